//! The service with containers: the same requests, and sandboxes that outlive whoever holds them.

use menace_tests::{Server, docker_options};
use serde_json::json;

#[test]
fn the_same_requests_work_with_containers_which_outlive_whoever_holds_them() {
    let Some(options) = docker_options() else { return };
    let variables =
        [("DOCKER_HOST", options.host.as_str()), ("MENACE_SANDBOX_IMAGE", options.image.as_str())];
    let server = Server::with_variables(&["--backend", "docker"], &variables);
    assert_eq!(server.ask("GET", "/readyz").json()["backend"], "docker");
    let sandbox =
        server.sandbox(&json!({ "project_name": "test", "memory_limit": "256m", "cpu_limit": "1.0" }));
    let done = server.shell(&sandbox, "echo hi; id -u; pwd; echo kept > /workspace/file");
    assert_eq!(done["stdout"], "hi\n1000\n/workspace\n");
    assert_eq!(
        server.ask_with("PUT", &format!("{sandbox}/files/workspace/a.txt"), &[], b"there").status,
        204
    );
    assert_eq!(server.ask("GET", &format!("{sandbox}/files/workspace/a.txt")).text(), "there");
    let keeper = rustix::process::Pid::from_raw(*server.keepers().iter().min().unwrap()).unwrap();
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).unwrap();
    let began = std::time::Instant::now();
    while server.keepers().contains(&keeper.as_raw_nonzero().get()) {
        assert!(began.elapsed().as_secs() < 20);
        std::thread::yield_now();
    }
    let known = server.ask("GET", &sandbox);
    let log = std::fs::read_to_string(server.directory.path().join("keeper.log")).unwrap();
    assert_eq!(known.json()["project_name"], "test", "{} {log}", known.text());
    assert_eq!(server.shell(&sandbox, "cat file")["stdout"], "kept\n");
    assert_eq!(server.ask("DELETE", &sandbox).status, 204);
    assert_eq!(server.ask("GET", "/api/sandboxes").json()["sandboxes"], json!([]));
}

#[test]
fn without_an_engine_that_is_said() {
    let missing = [("DOCKER_HOST", "unix:///nowhere/docker.sock")];
    let server = Server::with_variables(&[], &missing);
    let refused = server.send("POST", "/api/sandboxes", &json!({ "backend": "docker" }));
    assert!(refused.status >= 500 || refused.status == 409, "{}", refused.text());
    assert!(refused.text().contains("hint"), "{}", refused.text());
    assert_eq!(server.ask("GET", "/readyz").status, 200, "the usual backend goes on");
}
