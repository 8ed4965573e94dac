//! A `menace serve` of a test's own, which ends with the test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::binary::menace_binary;
use crate::http::{Answer, Events, Reading, WebSocket, ask, open};

/// A server.
pub struct Server {
    process: Child,
    /// Where it listens.
    pub address: String,
    /// Where it keeps what it knows.
    pub directory: TempDir,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Server {
    /// Starts one.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// Starts one with more arguments.
    pub fn with(arguments: &[&str]) -> Self {
        Self::in_directory(tempfile::tempdir().unwrap(), arguments)
    }

    /// Starts one that keeps what it knows in a directory.
    pub fn in_directory(directory: TempDir, arguments: &[&str]) -> Self {
        Self::begin(directory, arguments, &[])
    }

    /// Starts one with variables of its own.
    pub fn with_variables(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::begin(tempfile::tempdir().unwrap(), arguments, variables)
    }

    fn begin(directory: TempDir, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let variables: Vec<(String, String)> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (process, address) = begin(directory.path(), &arguments, &variables);
        Self { process, address, directory, arguments, variables }
    }

    /// Kills it, as a machine that runs out of memory would, and starts it again.
    pub fn kill_and_start_again(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        (self.process, self.address) = begin(self.directory.path(), &self.arguments, &self.variables);
    }

    /// Kills it and whoever holds sandboxes for it, and waits until they are gone.
    pub fn kill_all(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        for pid in self.keepers().into_iter().filter_map(rustix::process::Pid::from_raw) {
            // It may have ended with the other one.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        while !self.keepers().is_empty() {
            std::thread::yield_now();
        }
    }

    /// Asks for something.
    pub fn ask(&self, method: &str, path: &str) -> Answer {
        ask(&self.address, method, path, &[], b"")
    }

    /// Asks for something with headers and a body.
    pub fn ask_with(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        ask(&self.address, method, path, headers, body)
    }

    /// Asks for something with a body of JSON.
    pub fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let headers = [("Content-Type", "application/json")];
        ask(&self.address, method, path, &headers, body.to_string().as_bytes())
    }

    /// Makes a sandbox and returns where it is.
    #[track_caller]
    pub fn sandbox(&self, body: &Value) -> String {
        let made = self.send("POST", "/api/sandboxes/", body);
        assert_eq!(made.status, 201, "{}", made.text());
        format!("/api/sandboxes/{}", made.json()["sandbox_id"].as_str().unwrap())
    }

    /// Runs a line of shell and returns what came of it.
    #[track_caller]
    pub fn shell(&self, sandbox: &str, line: &str) -> Value {
        let done =
            self.send("POST", &format!("{sandbox}/execute"), &json!({ "command": ["sh", "-c", line] }));
        assert_eq!(done.status, 200, "{}", done.text());
        done.json()
    }

    /// Begins to hear events.
    pub fn events(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        Events::of(open(&self.address, "GET", path, headers, b""))
    }

    /// Begins to hear a command.
    pub fn exec(&self, sandbox: &str, line: &str) -> Reading {
        let body = json!({ "command": ["sh", "-c", line] }).to_string();
        let headers = [("Content-Type", "application/json")];
        open(&self.address, "POST", &format!("{sandbox}/exec"), &headers, body.as_bytes())
    }

    /// Opens a WebSocket.
    pub fn web_socket(&self, path: &str) -> WebSocket {
        WebSocket::open(&self.address, path)
    }

    /// Processes that hold sandboxes for it, by their ids.
    pub fn keepers(&self) -> Vec<i32> {
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

fn begin(directory: &Path, arguments: &[String], variables: &[(String, String)]) -> (Child, String) {
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
        let Some(Ok(line)) = lines.next() else { panic!("the server did not begin: {said}") };
        if let Some((_, address)) = line.split_once("://").filter(|_| line.starts_with("menace serves")) {
            break address.to_owned();
        }
        said += &format!("{line}\n");
    };
    // Whatever else it says is read, so that it never waits for us.
    std::thread::spawn(move || lines.for_each(drop));
    (process, address)
}

impl Drop for Server {
    fn drop(&mut self) {
        // Whoever holds sandboxes ends with a server that is told to end.
        let id = rustix::process::Pid::from_child(&self.process);
        if rustix::process::kill_process(id, rustix::process::Signal::TERM).is_ok() {
            drop(self.process.wait());
        }
    }
}
