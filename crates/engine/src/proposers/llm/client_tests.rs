//! The client against servers that misbehave, on loopback.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::client::{HttpModel, ModelEndpoint};
use super::embedder::HttpEmbedder;
use super::model::{ChatMessage, ChatRole, LanguageModel as _, ModelError, ModelRequest};
use crate::memory::TextEmbedder as _;

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n\
     {\"choices\": [{\"message\": {\"content\": \"yes\"}}], \"usage\": {\"prompt_tokens\": 3, \"completion_tokens\": 1}}";
const BUSY: &str = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nConnection: close\r\n\r\nslow down";
const BROKEN: &str = "HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n\r\nno room";
const WRONG: &str =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n{\"error\": {\"message\": \"no such model\"}}";

/// Server that answers with these texts in turn and then repeats the last; returns its address and its request counter.
fn server(answers: Vec<&'static str>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let number = count.fetch_add(1, Ordering::SeqCst);
            take_request(&stream);
            let mut stream = stream;
            // The client may have closed the connection.
            let _ = stream.write_all(answers.get(number).or(answers.last()).unwrap().as_bytes());
        }
    });
    (address, asked)
}

fn take_request(stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
}

fn endpoint(base_url: String, timeout: Duration, per_minute: u32) -> ModelEndpoint {
    ModelEndpoint { base_url, key: None, model: "scripted".into(), timeout, per_minute }
}

fn request() -> ModelRequest {
    ModelRequest {
        messages: vec![ChatMessage { role: ChatRole::User, content: "is it?".into() }],
        max_tokens: 100,
    }
}

#[tokio::test]
async fn transient_errors_are_retried_and_refusals_are_not() {
    let (address, asked) = server(vec![BUSY, BROKEN, ANSWER]);
    let model = HttpModel::new(endpoint(address, Duration::from_secs(20), 0)).unwrap();
    let reply = model.ask(&request()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.input_tokens, reply.output_tokens), ("yes", 3, 1));
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    let (address, asked) = server(vec![WRONG]);
    let model = HttpModel::new(endpoint(address, Duration::from_secs(20), 0)).unwrap();
    let error = model.ask(&request()).await.unwrap_err();
    assert!(
        matches!(&error, ModelError::Refused { status: 400, message } if message == "no such model"),
        "{error}"
    );
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn all_attempts_share_one_deadline_and_the_error_has_the_last_problem() {
    let (address, asked) = server(vec![BROKEN]);
    let model = HttpModel::new(endpoint(address, Duration::from_millis(900), 0)).unwrap();
    let began = Instant::now();
    let error = model.ask(&request()).await.unwrap_err();
    assert!(
        matches!(&error, ModelError::Late { last: Some(last), .. } if last.contains("no room")),
        "{error}"
    );
    assert!(began.elapsed() < Duration::from_secs(5) && asked.load(Ordering::SeqCst) >= 2);
}

#[tokio::test]
async fn requests_respect_the_rate_limit() {
    let (address, _) = server(vec![ANSWER]);
    let model = HttpModel::new(endpoint(address, Duration::from_secs(20), 300)).unwrap();
    let began = Instant::now();
    for _ in 0..3 {
        model.ask(&request()).await.unwrap();
    }
    assert!(began.elapsed() >= Duration::from_millis(400), "{:?}", began.elapsed());
}

#[tokio::test]
async fn vectors_are_in_the_order_of_their_texts_and_one_too_few_is_an_error() {
    let vectors = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n\
         {\"data\": [{\"index\": 1, \"embedding\": [0, 1]}, {\"index\": 0, \"embedding\": [1, 0]}]}";
    let (address, _) = server(vec![vectors]);
    let embedder = HttpEmbedder::new(endpoint(address, Duration::from_secs(20), 0)).unwrap();
    let two = ["a".to_owned(), "b".to_owned()];
    assert_eq!(embedder.embed(&two).await.unwrap(), [[1.0, 0.0], [0.0, 1.0]]);
    let error = embedder.embed(&two[..1]).await.unwrap_err();
    assert!(error.to_string().contains("2 vectors for 1 texts"), "{error}");
}
