//! A `menace serve` process of one test, which ends with the test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::binary::menace_binary;
use crate::http::{EventStream, HttpResponse, ResponseReader, WebSocket, ask, open};

/// A running `menace serve`.
pub struct TestServer {
    process: Child,
    /// Address on which it listens.
    pub address: String,
    /// Data directory.
    pub directory: TempDir,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

impl TestServer {
    /// Starts a server.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// Starts a server with additional arguments.
    pub fn with(arguments: &[&str]) -> Self {
        Self::in_directory(tempfile::tempdir().unwrap(), arguments)
    }

    /// Starts a server with this data directory.
    pub fn in_directory(directory: TempDir, arguments: &[&str]) -> Self {
        Self::launch(directory, arguments, &[])
    }

    /// Starts a server with additional environment variables.
    pub fn with_variables(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::launch(tempfile::tempdir().unwrap(), arguments, variables)
    }

    fn launch(directory: TempDir, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let variables: Vec<(String, String)> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (process, address) = launch(directory.path(), &arguments, &variables);
        Self { process, address, directory, arguments, variables }
    }

    /// Kills it with SIGKILL, as the OOM killer would, and starts it again.
    pub fn kill_and_restart(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        (self.process, self.address) = launch(self.directory.path(), &self.arguments, &self.variables);
    }

    /// Kills it and its sandbox daemon, and waits until they are gone.
    pub fn kill_all(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        for pid in self.sandbox_daemons().into_iter().filter_map(rustix::process::Pid::from_raw) {
            // It may have ended with the server.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        while !self.sandbox_daemons().is_empty() {
            std::thread::yield_now();
        }
    }

    /// Sends a request without a body.
    pub fn ask(&self, method: &str, path: &str) -> HttpResponse {
        ask(&self.address, method, path, &[], b"")
    }

    /// Sends a request with headers and a body.
    pub fn ask_with(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpResponse {
        ask(&self.address, method, path, headers, body)
    }

    /// Sends a request with a JSON body.
    pub fn send(&self, method: &str, path: &str, body: &Value) -> HttpResponse {
        let headers = [("Content-Type", "application/json")];
        ask(&self.address, method, path, &headers, body.to_string().as_bytes())
    }

    /// Creates a sandbox and returns its path in the API.
    #[track_caller]
    pub fn sandbox(&self, body: &Value) -> String {
        let made = self.send("POST", "/api/sandboxes/", body);
        assert_eq!(made.status, 201, "{}", made.text());
        format!("/api/sandboxes/{}", made.json()["sandbox_id"].as_str().unwrap())
    }

    /// Runs a shell command line and returns its result.
    #[track_caller]
    pub fn shell(&self, sandbox: &str, line: &str) -> Value {
        let done =
            self.send("POST", &format!("{sandbox}/execute"), &json!({ "command": ["sh", "-c", line] }));
        assert_eq!(done.status, 200, "{}", done.text());
        done.json()
    }

    /// Subscribes to events.
    pub fn events(&self, path: &str, headers: &[(&str, &str)]) -> EventStream {
        EventStream::of(open(&self.address, "GET", path, headers, b""))
    }

    /// Starts a command whose output is streamed.
    pub fn exec(&self, sandbox: &str, line: &str) -> ResponseReader {
        let body = json!({ "command": ["sh", "-c", line] }).to_string();
        let headers = [("Content-Type", "application/json")];
        open(&self.address, "POST", &format!("{sandbox}/exec"), &headers, body.as_bytes())
    }

    /// Opens a WebSocket.
    pub fn web_socket(&self, path: &str) -> WebSocket {
        WebSocket::open(&self.address, path)
    }

    /// Processes with the command line of its sandbox daemon: the daemon and those forked from it.
    pub fn sandbox_daemons(&self) -> Vec<i32> {
        let wanted = self.directory.path().display().to_string();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            if line.contains("__keep") && line.contains(&wanted) {
                found.push(pid);
            }
        }
        found
    }
}

fn launch(directory: &Path, arguments: &[String], variables: &[(String, String)]) -> (Child, String) {
    let mut process = Command::new(menace_binary())
        .args(["serve", "--port", "0", "--ephemeral", "--data-dir"])
        .arg(directory)
        .args(arguments)
        .current_dir(directory)
        .env("HOME", directory)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
    let mut said = String::new();
    let address = loop {
        let Some(Ok(line)) = lines.next() else { panic!("the server did not start: {said}") };
        if let Some((_, address)) = line.split_once("://").filter(|_| line.starts_with("menace serves")) {
            break address.to_owned();
        }
        said += &format!("{line}\n");
    };
    // Drain stderr, so that the server never blocks on a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (process, address)
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // On SIGTERM the server also ends its sandbox daemon.
        let id = rustix::process::Pid::from_child(&self.process);
        if rustix::process::kill_process(id, rustix::process::Signal::TERM).is_ok() {
            drop(self.process.wait());
        }
    }
}
