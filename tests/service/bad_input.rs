//! Invalid input: the response explains the error, and no sandbox is lost.

use std::io::{Read, Write};

use menace_tests::TestServer;
use serde_json::{Value, json};

#[test]
fn invalid_sandboxes_are_refused() {
    let server = TestServer::start();
    for (body, status, problem) in [
        (json!({ "memory_limit": "-1" }), 422, "is not a size"),
        (json!({ "memory_limit": "900t" }), 409, "more than this host has"),
        (json!({ "cpu_limit": "1000" }), 409, "CPUs"),
        (json!({ "cpu_limit": [] }), 422, "cores"),
        (json!({ "unknown": 1 }), 422, "unknown"),
        (json!({ "project_name": 5 }), 422, "invalid type"),
        (json!({ "project_name": "x".repeat(300) }), 422, "project_name"),
        (json!({ "env": { "A=B": "c" } }), 422, "env"),
        (json!({ "ports": [0] }), 422, "port"),
        (json!({ "cpu_limit": "0" }), 422, "above 0"),
        (json!({ "timeout": "0" }), 422, "above 0"),
        (json!({ "ttl": 0 }), 422, "above 0"),
        (json!({ "network": { "more": 1 } }), 422, "unknown field `more`"),
        (json!({ "image": "ubuntu" }), 409, "image"),
        (json!({ "snapshot": "sn-1" }), 404, "snapshot"),
        (json!([]), 422, "object"),
    ] {
        let answer = server.send("POST", "/api/sandboxes", &body);
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        assert!(answer.text().contains(problem), "{body}: {}", answer.text());
    }
    let raw =
        |kind: &str, body: &[u8]| server.ask_with("POST", "/api/sandboxes", &[("Content-Type", kind)], body);
    assert_eq!(raw("application/json", b"{").code(), "not_json");
    assert_eq!(raw("text/plain", b"{}").status, 415);
    assert_eq!(server.ask("GET", "/api/sandboxes").json()["sandboxes"], json!([]));
}

#[test]
fn mock_responses_cannot_be_host_files() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({ "network": "deny" }));
    let rules = json!({ "mocks": { "rules": [{ "host": "a", "respond": { "file": "/etc/hostname" } }] } });
    let refused = server.send("PUT", &format!("{sandbox}/network"), &rules);
    assert_eq!((refused.status, refused.code()), (422, "invalid_request".to_owned()), "{}", refused.text());
    assert!(refused.text().contains("file of the host"), "{}", refused.text());
    assert_eq!(server.send("POST", "/api/sandboxes", &json!({ "network": rules })).status, 422);
}

#[test]
fn invalid_commands_are_refused() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let execute = |body: &Value| server.send("POST", &format!("{sandbox}/execute"), body);
    for (body, status, code) in [
        (json!({ "command": [] }), 422, "invalid_request"),
        (json!({ "command": [""] }), 404, "program_not_found"),
        (json!({ "command": ["echo", "a\u{0}b"] }), 422, "invalid_request"),
        (json!({ "command": "ls" }), 422, "invalid_request"),
        (json!({ "command": ["no-such-program"] }), 404, "program_not_found"),
        (json!({ "command": ["true"], "workdir": "/nowhere" }), 404, "file_not_found"),
        (json!({ "command": ["true"], "timeout": 0 }), 422, "invalid_request"),
        (json!({ "command": ["true"], "more": 1 }), 422, "invalid_request"),
    ] {
        let answer = execute(&body);
        assert_eq!((answer.status, answer.code()), (status, code.to_owned()), "{body}: {}", answer.text());
    }
    assert_eq!(server.shell(&sandbox, "echo fine")["stdout"], "fine\n");
    let nobody = server.send("POST", "/api/sandboxes/sb-0/execute", &json!({ "command": ["true"] }));
    assert_eq!((nobody.status, nobody.code()), (404, "sandbox_not_found".to_owned()));
    assert_eq!(server.ask("GET", "/api/nothing").code(), "not_found");
    assert_eq!(server.ask("DELETE", "/api/sandboxes").code(), "method_not_allowed");
    let large = vec![b' '; 3 << 20];
    let headers = [("Content-Type", "application/json")];
    assert_eq!(server.ask_with("POST", &format!("{sandbox}/execute"), &headers, &large).status, 413);
}

#[test]
fn an_unfinished_request_times_out() {
    let server = TestServer::with(&["--patience", "300ms"]);
    let sandbox = server.sandbox(&json!({}));
    let headers = [("Content-Type", "application/json"), ("Content-Length", "1000")];
    let began = std::time::Instant::now();
    let answer = server.ask_with("POST", &format!("{sandbox}/execute"), &headers, b"{\"comm");
    assert_eq!((answer.status, answer.code()), (408, "too_slow".to_owned()), "{}", answer.text());
    assert!(began.elapsed().as_secs() < 10);
    let mut slow = std::net::TcpStream::connect(&server.address).unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHost: x").unwrap();
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).unwrap();
    assert!(began.elapsed().as_secs() < 10, "the connection was not closed");
}
