//! Queries the engine directly, independent of menace.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use menace_sandbox::docker::DockerOptions;
use serde_json::Value;

/// Lists all containers of an owner.
pub(crate) fn containers(options: &DockerOptions) -> Vec<Value> {
    let filter = format!("%7B%22label%22%3A%5B%22menace.owner%3D{}%22%5D%7D", options.owner);
    let answer = get(options, &format!("/containers/json?all=1&filters={filter}"));
    answer.as_array().unwrap().clone()
}

/// Inspects the container of a sandbox.
pub(crate) fn inspect(options: &DockerOptions, id: &str) -> Value {
    get(options, &format!("/containers/menace-{id}/json"))
}

fn get(options: &DockerOptions, path: &str) -> Value {
    let mut socket = UnixStream::connect(options.host.trim_start_matches("unix://")).unwrap();
    write!(socket, "GET {path} HTTP/1.0\r\nHost: engine\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.0 200"), "{answer}");
    serde_json::from_str(body).unwrap()
}

/// Runs Docker's own client.
pub(crate) fn docker(options: &DockerOptions, arguments: &[&str]) {
    let mut command = Command::new("docker");
    command.args(["--host", &options.host]).args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().unwrap().success(), "{arguments:?}");
}
