//! A small client for HTTP and web sockets, so that tests see every byte that a server sends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its headers, in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The code of the error that it is.
    #[track_caller]
    pub fn code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_else(|| panic!("no error: {}", self.text()))
            .to_owned()
    }
}

/// A connection on which a request was sent, and of which the head of the answer was read.
pub struct Reading {
    /// The status.
    pub status: u16,
    /// The headers, in lower case.
    pub headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
    is_chunked: bool,
    left: usize,
}

/// Sends a request and reads the head of the answer.
pub fn open(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reading {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head += &format!("Host: {address}\r\n");
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("upgrade")) {
        head += "Connection: close\r\n";
        let has_length = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        if !has_length && (!body.is_empty() || method != "GET") {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
    }
    let mut writer = stream.try_clone().unwrap();
    // A server may answer before it has read everything, and close.
    let _ = writer.write_all(format!("{head}\r\n").as_bytes()).and_then(|()| writer.write_all(body));
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no answer to {method} {path}: {line:?}"));
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    Reading { status, headers, reader, is_chunked, left: 0 }
}

/// Sends a request and reads the answer to its end.
pub fn ask(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut reading = open(address, method, path, headers, body);
    let mut body = Vec::new();
    reading.read_to_end(&mut body).unwrap();
    Answer { status: reading.status, headers: reading.headers, body }
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !self.is_chunked {
            return self.reader.read(buffer);
        }
        if self.left == 0 {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            self.left = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            if self.left == 0 {
                return Ok(0);
            }
        }
        let most = self.left.min(buffer.len());
        let length = self.reader.read(&mut buffer[..most])?;
        self.left -= length;
        if self.left == 0 {
            // The end of a chunk is a line of its own.
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
        }
        Ok(length)
    }
}

/// An event of a stream of events.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What it is called.
    pub name: String,
    /// Its number.
    pub id: Option<String>,
    /// What it has.
    pub data: Value,
}

/// Events as they come.
pub struct Events(BufReader<Reading>);

impl Events {
    /// The events of an answer.
    pub fn of(reading: Reading) -> Self {
        assert_eq!(reading.status, 200, "{:?}", reading.headers);
        Self(BufReader::new(reading))
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let (mut name, mut id, mut data) = (String::new(), None, String::new());
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end().split_once(':') {
                None if !name.is_empty() => {
                    return Some(Event {
                        name,
                        id,
                        data: serde_json::from_str(&data).unwrap_or(Value::Null),
                    });
                }
                Some(("event", value)) => value.trim().clone_into(&mut name),
                Some(("id", value)) => id = Some(value.trim().to_owned()),
                Some(("data", value)) => data += value.trim_start(),
                _ => {}
            }
        }
    }
}

/// A WebSocket.
pub struct WebSocket(BufReader<TcpStream>);

/// A message of one.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// The end.
    Close,
}

impl WebSocket {
    /// Opens one.
    pub fn open(address: &str, path: &str) -> Self {
        let headers = [
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let reading = open(address, "GET", path, &headers, b"");
        assert_eq!(reading.status, 101, "{:?}", reading.headers);
        let accepted = ("sec-websocket-accept".to_owned(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".to_owned());
        assert!(reading.headers.contains(&accepted), "{:?}", reading.headers);
        Self(reading.reader)
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Message) {
        let (code, bytes) = match message {
            Message::Text(text) => (1, text.as_bytes()),
            Message::Binary(bytes) => (2, bytes.as_slice()),
            Message::Close => (8, &[][..]),
        };
        assert!(bytes.len() < 126, "tests send little");
        // A mask of zeros changes nothing.
        let length = u8::try_from(bytes.len()).unwrap();
        let mut frame = vec![0x80 | code, 0x80 | length, 0, 0, 0, 0];
        frame.extend_from_slice(bytes);
        self.0.get_mut().write_all(&frame).unwrap();
    }

    /// The next message.
    pub fn receive(&mut self) -> Message {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        let length = match head[1] & 0x7f {
            126 => {
                let mut length = [0; 2];
                self.0.read_exact(&mut length).unwrap();
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.0.read_exact(&mut length).unwrap();
                u64::from_be_bytes(length)
            }
            length => u64::from(length),
        };
        let mut bytes = vec![0; usize::try_from(length).unwrap()];
        self.0.read_exact(&mut bytes).unwrap();
        match head[0] & 0x0f {
            1 => Message::Text(String::from_utf8(bytes).unwrap()),
            2 => Message::Binary(bytes),
            8 => Message::Close,
            // Pings want no answer here.
            _ => self.receive(),
        }
    }
}
