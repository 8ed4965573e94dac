//! Small client for HTTP and `WebSockets`, so that tests see every byte that a server sends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Read timeout: longer than any response takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A complete HTTP response.
#[derive(Debug)]
pub struct HttpResponse {
    /// Status code.
    pub status: u16,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Error code of an error response.
    #[track_caller]
    pub fn code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_else(|| panic!("not an error: {}", self.text()))
            .to_owned()
    }
}

/// A response whose head was read and whose body can be read from the connection.
pub struct ResponseReader {
    /// Status code.
    pub status: u16,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
    is_chunked: bool,
    left: usize,
}

/// Sends a request and reads the head of the response.
pub fn open(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> ResponseReader {
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
    ResponseReader { status, headers, reader, is_chunked, left: 0 }
}

/// Sends a request and reads the whole response.
pub fn ask(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpResponse {
    let mut reading = open(address, method, path, headers, body);
    let mut body = Vec::new();
    reading.read_to_end(&mut body).unwrap();
    HttpResponse { status: reading.status, headers: reading.headers, body }
}

impl Read for ResponseReader {
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

/// One server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerEvent {
    /// Name of the event.
    pub name: String,
    /// Id of the event.
    pub id: Option<String>,
    /// Payload.
    pub data: Value,
}

/// Server-sent events, in the order in which they arrive.
pub struct EventStream(BufReader<ResponseReader>);

impl EventStream {
    /// Reads events from a response.
    pub fn of(reading: ResponseReader) -> Self {
        assert_eq!(reading.status, 200, "{:?}", reading.headers);
        Self(BufReader::new(reading))
    }
}

impl Iterator for EventStream {
    type Item = ServerEvent;

    fn next(&mut self) -> Option<ServerEvent> {
        let (mut name, mut id, mut data) = (String::new(), None, String::new());
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end().split_once(':') {
                None if !name.is_empty() => {
                    return Some(ServerEvent {
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

/// A WebSocket connection.
pub struct WebSocket(BufReader<TcpStream>);

/// A WebSocket message.
#[derive(Debug, PartialEq, Eq)]
pub enum WebSocketMessage {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// Close frame.
    Close,
}

impl WebSocket {
    /// Opens a connection.
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
    pub fn send(&mut self, message: &WebSocketMessage) {
        let (code, bytes) = match message {
            WebSocketMessage::Text(text) => (1, text.as_bytes()),
            WebSocketMessage::Binary(bytes) => (2, bytes.as_slice()),
            WebSocketMessage::Close => (8, &[][..]),
        };
        assert!(bytes.len() < 126, "messages of 126 bytes and more are not supported");
        // A mask of zeros leaves the payload unchanged.
        let length = u8::try_from(bytes.len()).unwrap();
        let mut frame = vec![0x80 | code, 0x80 | length, 0, 0, 0, 0];
        frame.extend_from_slice(bytes);
        self.0.get_mut().write_all(&frame).unwrap();
    }

    /// The next message.
    pub fn receive(&mut self) -> WebSocketMessage {
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
            1 => WebSocketMessage::Text(String::from_utf8(bytes).unwrap()),
            2 => WebSocketMessage::Binary(bytes),
            8 => WebSocketMessage::Close,
            // Pings are not answered.
            _ => self.receive(),
        }
    }
}
