//! Life cycle of sandboxes: create, find, stop, copy, destroy.

use menace_tests::TestServer;
use serde_json::json;

#[test]
fn requests_of_the_first_edition_work_unchanged() {
    let server = TestServer::start();
    let body = json!({ "project_name": "test", "memory_limit": "1g", "cpu_limit": "1.0" });
    let made = server.send("POST", "/api/sandboxes/", &body);
    assert_eq!(made.status, 201);
    let made = made.json();
    for field in [
        "sandbox_id",
        "container_id",
        "project_name",
        "status",
        "created_at",
        "workspace_path",
        "ports",
        "resource_limits",
    ] {
        assert!(!made[field].is_null(), "{field} is missing in {made}");
    }
    assert_eq!((&made["status"], &made["workspace_path"]), (&json!("running"), &json!("/workspace")));
    assert_eq!(made["resource_limits"]["memory_limit"], "1g");
    let id = made["sandbox_id"].as_str().unwrap();
    let execute = json!({ "command": ["python3", "-c", "print(6 * 7)"], "workdir": "/workspace" });
    let done = server.send("POST", &format!("/api/sandboxes/{id}/execute"), &execute);
    assert_eq!(done.status, 200);
    let done = done.json();
    assert_eq!(
        (&done["exit_code"], &done["stdout"], &done["stderr"]),
        (&json!(0), &json!("42\n"), &json!(""))
    );
    let listed = server.ask("GET", "/api/sandboxes/").json();
    assert_eq!(listed["sandboxes"][0]["sandbox_id"], id);
    assert_eq!(server.ask("DELETE", &format!("/api/sandboxes/{id}")).status, 204);
    assert_eq!(server.ask("DELETE", &format!("/api/sandboxes/{id}")).code(), "sandbox_not_found");
    assert_eq!(server.ask("GET", "/api/sandboxes").json()["sandboxes"], json!([]));
}

#[test]
fn limits_are_enforced_and_can_be_changed() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({ "memory_limit": "64m", "disk_limit": "8m", "pids_limit": 20 }));
    let hungry = "python3 -c 'b = bytearray(200 << 20); print(len(b))'";
    assert_eq!(server.shell(&sandbox, hungry)["oom"], true);
    let changed = server.send("PATCH", &sandbox, &json!({ "memory_limit": "512m", "labels": { "a": "b" } }));
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(changed.json()["resource_limits"]["memory_limit"], "512m");
    assert_eq!(server.shell(&sandbox, hungry)["stdout"], "209715200\n");
    let full = server.shell(&sandbox, "dd if=/dev/zero of=big bs=1M count=20");
    assert_ne!(full["exit_code"], 0);
    assert_eq!(server.send("PATCH", &sandbox, &json!({ "memory_limit": "1k" })).code(), "refused");
}

#[test]
fn a_command_past_its_timeout_is_killed_and_reported() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({ "timeout": "300ms" }));
    let done = server.shell(&sandbox, "echo before; sleep 60");
    assert_eq!(
        (&done["timed_out"], &done["exit_code"], &done["stdout"]),
        (&json!(true), &json!(null), &json!("before\n"))
    );
    let own = server.send(
        "POST",
        &format!("{sandbox}/execute"),
        &json!({ "command": ["sleep", "0.5"], "timeout": 20 }),
    );
    assert_eq!(own.json()["exit_code"], 0);
}

#[test]
fn a_stopped_sandbox_keeps_its_files_and_a_paused_one_its_processes() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let started =
        server.send("POST", &format!("{sandbox}/processes"), &json!({ "command": ["sleep", "60"] })).json();
    let process = format!("{sandbox}/processes/{}", started["process_id"].as_str().unwrap());
    server.shell(&sandbox, "echo kept > file");
    assert_eq!(server.ask("POST", &format!("{sandbox}/pause")).json()["status"], "paused");
    let execute = || server.send("POST", &format!("{sandbox}/execute"), &json!({ "command": ["true"] }));
    assert_eq!((execute().status, execute().code()), (409, "sandbox_not_running".to_owned()));
    assert_eq!(server.ask("POST", &format!("{sandbox}/resume")).json()["status"], "running");
    assert_eq!(server.ask("GET", &process).json()["status"], "running");
    assert_eq!(server.ask("POST", &format!("{sandbox}/stop")).json()["status"], "stopped");
    assert_eq!(execute().code(), "sandbox_not_running");
    assert_eq!(server.ask("POST", &format!("{sandbox}/start")).json()["status"], "running");
    assert_eq!(server.shell(&sandbox, "cat file")["stdout"], "kept\n");
    assert_ne!(server.ask("GET", &process).json()["status"], "running");
}

#[test]
fn snapshots_and_forks_become_sandboxes() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({ "project_name": "first" }));
    server.shell(&sandbox, "echo one > file");
    let taken = server.send("POST", &format!("{sandbox}/snapshots"), &json!({ "name": "before" })).json();
    server.shell(&sandbox, "echo two > file");
    let forked = server.ask("POST", &format!("{sandbox}/fork"));
    assert_eq!(forked.status, 201, "{}", forked.text());
    let forked = format!("/api/sandboxes/{}", forked.json()["sandbox_id"].as_str().unwrap());
    server.shell(&forked, "echo three > file");
    assert_eq!(server.ask("DELETE", &sandbox).status, 204);
    let restored = server.sandbox(&json!({ "snapshot": taken["snapshot_id"] }));
    assert_eq!(server.shell(&restored, "cat file")["stdout"], "one\n");
    assert_eq!(server.shell(&forked, "cat file")["stdout"], "three\n");
    let path = format!("/api/snapshots/{}", taken["snapshot_id"].as_str().unwrap());
    assert_eq!(server.ask("DELETE", &path).status, 204);
    assert_eq!(
        server.send("POST", "/api/sandboxes", &json!({ "snapshot": taken["snapshot_id"] })).code(),
        "snapshot_not_found"
    );
}

#[test]
fn ttl_destroys_and_idle_timeout_stops_a_sandbox() {
    let server = TestServer::start();
    let mut happened = server.events("/api/events", &[]);
    let short = server.sandbox(&json!({ "ttl": "100ms" }));
    let idle = server.sandbox(&json!({ "idle_timeout": "100ms" }));
    let mut seen = Vec::new();
    while seen.len() < 4 {
        let event = happened.next().unwrap();
        seen.push((event.name, event.data["sandbox_id"].as_str().unwrap().to_owned()));
    }
    assert!(
        seen.contains(&("sandbox.destroyed".to_owned(), short.rsplit('/').next().unwrap().to_owned())),
        "{seen:?}"
    );
    assert!(
        seen.contains(&("sandbox.stopped".to_owned(), idle.rsplit('/').next().unwrap().to_owned())),
        "{seen:?}"
    );
    assert_eq!(server.ask("GET", &short).status, 404);
    assert_eq!(server.ask("GET", &idle).json()["status"], "stopped");
}

#[test]
fn a_repeated_idempotency_key_creates_one_sandbox() {
    let server = TestServer::start();
    let make = |key: &str, body: &str| {
        let headers = [("Content-Type", "application/json"), ("Idempotency-Key", key)];
        server.ask_with("POST", "/api/sandboxes", &headers, body.as_bytes())
    };
    let ids: Vec<_> =
        (0..3).map(|_| make("k", r#"{"project_name": "a"}"#).json()["sandbox_id"].clone()).collect();
    assert!(ids.iter().all(|id| *id == ids[0] && id.is_string()), "{ids:?}");
    assert_eq!(make("k", r#"{"project_name": "b"}"#).code(), "key_used");
    assert_eq!(make("", "{}").code(), "invalid_request");
    assert_eq!(server.ask("GET", "/api/sandboxes").json()["sandboxes"].as_array().unwrap().len(), 1);
}

#[test]
fn sandboxes_are_filtered_and_paginated() {
    let server = TestServer::start();
    for number in 0..5 {
        server.sandbox(&json!({ "project_name": format!("p{number}"), "labels": { "even": (number % 2 == 0).to_string() } }));
    }
    let names = |query: &str| {
        let page = server.ask("GET", &format!("/api/sandboxes?{query}")).json();
        let all = page["sandboxes"].as_array().unwrap().clone();
        let names: Vec<String> =
            all.iter().map(|one| one["project_name"].as_str().unwrap().to_owned()).collect();
        (names, page["next_cursor"].as_str().map(str::to_owned))
    };
    assert_eq!(names("label=even%3Dtrue").0, ["p0", "p2", "p4"]);
    assert_eq!(names("project_name=p3").0, ["p3"]);
    assert_eq!(names("q=p1").0, ["p1"]);
    assert_eq!(names("status=paused").0.len(), 0);
    let (first, cursor) = names("limit=2");
    assert_eq!(first, ["p0", "p1"]);
    let (second, cursor) = names(&format!("limit=2&cursor={}", cursor.unwrap()));
    assert_eq!(second, ["p2", "p3"]);
    assert_eq!(names(&format!("limit=2&cursor={}", cursor.unwrap())), (vec!["p4".to_owned()], None));
    let cleaned = server.ask("POST", "/api/sandboxes/cleanup?hours=0").json();
    assert_eq!(cleaned["destroyed"], 5);
}
