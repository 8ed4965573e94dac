//! The service with the Docker backend: the same requests, and sandboxes that outlive the sandbox daemon.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use menace_tests::{TestServer, docker_options};
use serde_json::json;

#[test]
fn requests_work_with_containers_that_outlive_the_sandbox_daemon() {
    let Some(options) = docker_options() else { return };
    let variables =
        [("DOCKER_HOST", options.host.as_str()), ("MENACE_SANDBOX_IMAGE", options.image.as_str())];
    let server = TestServer::with_variables(&["--backend", "docker"], &variables);
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
    let daemon = rustix::process::Pid::from_raw(*server.sandbox_daemons().iter().min().unwrap()).unwrap();
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
    let began = std::time::Instant::now();
    while server.sandbox_daemons().contains(&daemon.as_raw_nonzero().get()) {
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
fn a_missing_engine_is_reported() {
    let missing = [("DOCKER_HOST", "unix:///nowhere/docker.sock")];
    let server = TestServer::with_variables(&[], &missing);
    for refused in [
        server.send("POST", "/api/sandboxes", &json!({ "backend": "docker" })),
        server.ask("GET", "/api/capabilities?backend=docker"),
    ] {
        assert_eq!((refused.status, refused.code()), (409, "unsupported".to_owned()), "{}", refused.text());
        let error = &refused.json()["error"];
        assert!(error["message"].as_str().unwrap().contains("unix:///nowhere/docker.sock"), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("start dockerd"), "{error}");
    }
    assert_eq!(server.ask("GET", "/readyz").status, 200, "the default backend still works");
}

#[test]
fn an_externally_removed_container_is_gone() {
    let Some(options) = docker_options() else { return };
    let variables =
        [("DOCKER_HOST", options.host.as_str()), ("MENACE_SANDBOX_IMAGE", options.image.as_str())];
    let server = TestServer::with_variables(&["--backend", "docker"], &variables);
    let sandbox = server.sandbox(&json!({}));
    let container = server.ask("GET", &sandbox).json()["container_id"].as_str().unwrap().to_owned();
    let mut engine = UnixStream::connect(options.host.trim_start_matches("unix://")).unwrap();
    write!(engine, "DELETE /containers/menace-{container}?force=1 HTTP/1.0\r\nHost: engine\r\n\r\n").unwrap();
    let mut answer = String::new();
    engine.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 204"), "{answer}");
    let execute = server.send("POST", &format!("{sandbox}/execute"), &json!({ "command": ["true"] }));
    assert_eq!((execute.status, execute.code()), (410, "sandbox_gone".to_owned()), "{}", execute.text());
    assert_eq!(server.ask("GET", &format!("{sandbox}/stats")).code(), "sandbox_gone");
    assert_eq!(server.ask("DELETE", &sandbox).status, 204);
    assert_eq!(server.ask("DELETE", &sandbox).code(), "sandbox_not_found");
}

#[test]
fn an_engine_lost_during_a_call_is_reported() {
    let Some(options) = docker_options() else { return };
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("engine.sock");
    let proxy = InterruptibleProxy::at(&socket, options.host.trim_start_matches("unix://"));
    let host = format!("unix://{}", socket.display());
    let variables = [("DOCKER_HOST", host.as_str()), ("MENACE_SANDBOX_IMAGE", options.image.as_str())];
    let server = TestServer::with_variables(&["--backend", "docker"], &variables);
    let sandbox = server.sandbox(&json!({}));
    let command = json!({ "command": ["sh", "-c", "touch /workspace/began; sleep 100"] });
    let (answer, took) = std::thread::scope(|scope| {
        let call = scope.spawn(|| server.send("POST", &format!("{sandbox}/execute"), &command));
        while server.ask("GET", &format!("{sandbox}/files/workspace/began?as=stat")).status != 200 {
            assert!(!call.is_finished(), "the call ended too early");
        }
        proxy.cut();
        let began = std::time::Instant::now();
        (call.join().unwrap(), began.elapsed())
    });
    assert_eq!((answer.status, answer.code()), (409, "unsupported".to_owned()), "{}", answer.text());
    assert!(answer.text().contains("start dockerd"), "{}", answer.text());
    assert!(took.as_secs() < 20, "{took:?}");
    assert_eq!(server.ask("GET", "/healthz").status, 200);
    proxy.restore();
    assert_eq!(
        server.ask("DELETE", &sandbox).status,
        204,
        "the sandbox can be deleted when the engine is back"
    );
}

/// Proxy between the service and an engine whose connections can be cut and restored.
struct InterruptibleProxy {
    open: Arc<Mutex<(bool, Vec<UnixStream>)>>,
}

impl InterruptibleProxy {
    fn at(path: &Path, engine: &str) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let open = Arc::new(Mutex::new((true, Vec::new())));
        let (kept, engine) = (Arc::clone(&open), engine.to_owned());
        std::thread::spawn(move || {
            for caller in listener.incoming().map_while(Result::ok) {
                let mut kept = kept.lock().unwrap();
                let Some(there) = kept.0.then(|| UnixStream::connect(&engine).ok()).flatten() else {
                    continue;
                };
                for (from, to) in [(&caller, &there), (&there, &caller)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || {
                        drop(std::io::copy(&mut from, &mut to));
                        drop(to.shutdown(Shutdown::Write));
                    });
                }
                kept.1.extend([caller, there]);
            }
        });
        Self { open }
    }

    fn cut(&self) {
        let mut open = self.open.lock().unwrap();
        open.0 = false;
        for stream in open.1.drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    fn restore(&self) {
        self.open.lock().unwrap().0 = true;
    }
}
