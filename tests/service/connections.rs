//! Ports of programs in sandboxes, networks, self-description of the service, TLS.

use menace_tests::TestServer;
use menace_tests::http::EventStream;
use serde_json::json;

#[test]
fn a_listening_program_is_reachable() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({ "ports": [8000] }));
    let port = format!("{sandbox}/ports/8000/");
    assert_eq!(server.ask("GET", &sandbox).json()["ports"]["8000"], port.as_str());
    assert_eq!(server.ask("GET", &port).code(), "port_unreachable");
    server.shell(&sandbox, "echo 'hello there' > 'a b.txt'");
    let body = json!({ "command": ["python3", "-u", "-m", "http.server", "8000"] });
    let process = server.send("POST", &format!("{sandbox}/processes"), &body).json();
    let events = format!("{sandbox}/processes/{}/events", process["process_id"].as_str().unwrap());
    assert!(
        server.events(&events, &[]).any(|event| event.name == "stdout"),
        "the program reports that it listens"
    );
    let got = server.ask("GET", &format!("{port}a%20b.txt?x=1"));
    assert_eq!((got.status, got.text()), (200, "hello there\n".to_owned()));
}

#[test]
fn network_flows_are_listed_and_rules_can_change() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({ "network": "deny" }));
    let tried = server
        .shell(&sandbox, "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 2)'");
    assert_ne!(tried["exit_code"], 0);
    let seen = server.ask("GET", &format!("{sandbox}/network")).json();
    assert_eq!(seen["flows"][0]["destination"], "192.0.2.1:80", "{seen}");
    assert_eq!(seen["flows"][0]["verdict"], "refused");
    let rules = json!({ "allow": ["192.0.2.0/24:80"] });
    assert_eq!(server.send("PUT", &format!("{sandbox}/network"), &rules).status, 204);
    let without = server.sandbox(&json!({}));
    assert_eq!(server.send("PUT", &format!("{without}/network"), &rules).code(), "refused");
}

#[test]
fn the_service_describes_itself() {
    let server = TestServer::start();
    assert_eq!(server.ask("GET", "/healthz").json()["status"], "ok");
    assert_eq!(server.ask("GET", "/readyz").json()["backend"], "native");
    let document = server.ask("GET", "/api/openapi.json").json();
    assert!(document["paths"]["/api/sandboxes/{id}/execute"]["post"].is_object());
    let page = server.ask("GET", "/api/docs/");
    assert_eq!(page.status, 200);
    assert!(
        !page.text().contains("http://") && !page.text().contains("https://"),
        "the page refers to other hosts"
    );
    let sandbox = server.sandbox(&json!({}));
    server.shell(&sandbox, "true");
    let metrics = server.ask("GET", "/metrics").text();
    assert!(metrics.contains("sandbox_creation_seconds_count{backend=\"native\"} 1"), "{metrics}");
    assert!(metrics.contains("active_container_count{backend=\"native\"} 1"), "{metrics}");
    let isolation = server.ask("GET", &format!("{sandbox}/isolation")).json();
    assert_eq!((&isolation["no_capabilities"], &isolation["seccomp"]), (&json!(true), &json!(true)));
    let capabilities = server.ask("GET", "/api/capabilities").json();
    assert_eq!(capabilities["isolates"], true);
    let last: Vec<_> = EventStream::of(server.exec(&sandbox, "true")).collect();
    assert_eq!(last.last().unwrap().name, "exit");
}

#[test]
fn a_certificate_enables_https() {
    let directory = tempfile::tempdir().unwrap();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
    std::fs::write(&certificate, certified.cert.pem()).unwrap();
    std::fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
    let files = [certificate.display().to_string(), key.display().to_string()];
    let server = TestServer::in_directory(directory, &["--tls-cert", &files[0], "--tls-key", &files[1]]);
    let port = server.address.rsplit(':').next().unwrap();
    let asked = std::process::Command::new("curl")
        .args(["-s", "--cacert", &files[0], &format!("https://localhost:{port}/api/sandboxes")])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&asked.stdout), r#"{"sandboxes":[],"next_cursor":null}"#);
}
