//! API keys, quotas and the rate limit.

use menace_tests::{MenaceInvocation, TestServer};
use serde_json::{Value, json};

fn key(directory: &std::path::Path, arguments: &[&str]) -> String {
    let data = directory.display().to_string();
    let all = ["keys", "create", "--json", "--data-dir", &data];
    let made = MenaceInvocation::new(directory, directory).arguments(all.iter().chain(arguments)).run();
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    serde_json::from_str::<Value>(&made.stdout).unwrap()["key"].as_str().unwrap().to_owned()
}

fn ask(
    server: &TestServer,
    key: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> menace_tests::http::HttpResponse {
    let bearer = format!("Bearer {key}");
    let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.ask_with(method, path, &headers, body.as_bytes())
}

#[test]
fn api_keys_are_required_and_tenants_are_separate() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) =
        (key(directory.path(), &["one", "--max-sandboxes", "1"]), key(directory.path(), &["two"]));
    let server = TestServer::in_directory(directory, &[]);
    assert_eq!(server.ask("GET", "/api/sandboxes").code(), "unauthorized");
    assert_eq!(ask(&server, "mnc_wrong", "GET", "/api/sandboxes", &Value::Null).status, 401);
    assert_eq!(server.ask("GET", "/healthz").status, 200);
    let made = ask(&server, &first, "POST", "/api/sandboxes", &json!({ "project_name": "mine" }));
    assert_eq!(made.status, 201, "{}", made.text());
    let path = format!("/api/sandboxes/{}", made.json()["sandbox_id"].as_str().unwrap());
    assert_eq!(ask(&server, &first, "POST", "/api/sandboxes", &json!({})).code(), "quota_exceeded");
    assert_eq!(ask(&server, &second, "GET", &path, &Value::Null).status, 404);
    assert_eq!(ask(&server, &second, "DELETE", &path, &Value::Null).status, 404);
    assert_eq!(ask(&server, &second, "GET", "/api/sandboxes", &Value::Null).json()["sandboxes"], json!([]));
    // A caller cannot set its own tenant.
    let bearer = format!("Bearer {second}");
    let forged = [("Authorization", bearer.as_str()), ("X-Menace-Caller", "{}")];
    assert_eq!(server.ask_with("GET", &path, &forged, b"").status, 404);
    assert_eq!(ask(&server, &first, "DELETE", &path, &Value::Null).status, 204);
    assert_eq!(ask(&server, &first, "POST", "/api/sandboxes", &json!({})).status, 201);
    let audit = std::fs::read_to_string(server.directory.path().join("audit.jsonl")).unwrap();
    assert!(audit.contains(r#""method":"DELETE""#) && audit.contains(r#""status":204"#), "{audit}");
    let data = server.directory.path();
    let verify = || MenaceInvocation::new(data, data).arguments(["audit", "verify", "audit.jsonl"]).run();
    verify().success().stdout_contains(&["unchanged"]);
    std::fs::write(data.join("audit.jsonl"), audit.replacen(r#""status":204"#, r#""status":404"#, 1))
        .unwrap();
    verify().exits_with(1).stdout_contains(&["it was changed after it was written"]);
    for secret in [&first, &second] {
        assert!(!audit.contains(secret.as_str()), "the audit trail contains a key");
        let kept = std::fs::read_to_string(server.directory.path().join("api_keys.json")).unwrap();
        assert!(!kept.contains(secret.as_str()), "a key is stored in clear text");
    }
}

#[test]
fn revoked_and_expired_keys_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (good, old) = (key(directory.path(), &["good"]), key(directory.path(), &["old", "--expires", "1ms"]));
    let server = TestServer::in_directory(directory, &[]);
    let status = |key: &str| ask(&server, key, "GET", "/api/sandboxes", &Value::Null).status;
    assert_eq!((status(&good), status(&old)), (200, 401));
    let data = server.directory.path();
    let revoked = MenaceInvocation::new(data, data)
        .arguments(["keys", "revoke", "good", "--data-dir", &data.display().to_string()])
        .run();
    assert_eq!(revoked.code, Some(0), "{}", revoked.stderr);
    // The server rereads its keys once a second.
    let began = std::time::Instant::now();
    while status(&good) == 200 {
        assert!(began.elapsed().as_secs() < 20, "the revoked key is still accepted");
    }
    assert_eq!(server.ask("GET", "/api/sandboxes").status, 401, "without any key the API must stay closed");
}

#[test]
fn a_public_address_requires_keys() {
    let directory = tempfile::tempdir().unwrap();
    let refused = MenaceInvocation::new(directory.path(), directory.path())
        .arguments(["serve", "--address", "0.0.0.0", "--port", "0", "--ephemeral"])
        .run();
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("menace keys create"), "{}", refused.stderr);
    // The sandbox daemon exits by itself, or now.
    MenaceInvocation::new(directory.path(), directory.path()).arguments(["--cleanup"]).run();
}

#[test]
fn cross_origin_requests_are_refused() {
    let server = TestServer::start();
    let status = |headers: &[(&str, &str)]| server.ask_with("GET", "/api/sandboxes", headers, b"").status;
    assert_eq!(status(&[("Origin", "https://evil.example")]), 403);
    assert_eq!(status(&[("Origin", &format!("http://{}", server.address))]), 200);
}

#[test]
fn the_rate_limit_is_enforced() {
    let server = TestServer::with(&["--rate", "5"]);
    let statuses: Vec<u16> = (0..30).map(|_| server.ask("GET", "/api/sandboxes").status).collect();
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");
}
