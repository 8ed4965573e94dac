//! A killed server loses no sandbox; sandboxes of a killed daemon are reported as gone.

use menace_tests::TestServer;
use menace_tests::http::EventStream;
use serde_json::json;

#[test]
fn a_restarted_server_finds_its_sandboxes_and_processes() {
    let mut server = TestServer::start();
    let sandbox = server.sandbox(&json!({ "project_name": "stays" }));
    server.shell(&sandbox, "echo kept > file");
    let counting = "i=0; while [ $i -lt 400 ]; do echo $i; i=$((i+1)); sleep 0.005; done";
    let mut events = EventStream::of(server.exec(&sandbox, counting));
    let process = events.next().unwrap().data["process_id"].as_str().unwrap().to_owned();
    let (mut heard, mut last) = (String::new(), "0".to_owned());
    for event in events.by_ref().filter(|event| event.name == "stdout").take(20) {
        heard += event.data["data"].as_str().unwrap();
        last = event.id.unwrap();
    }
    server.kill_and_restart();
    drop(events);
    assert_eq!(server.ask("GET", &sandbox).json()["project_name"], "stays");
    assert_eq!(server.shell(&sandbox, "cat file")["stdout"], "kept\n");
    for event in server.events(&format!("{sandbox}/processes/{process}/events"), &[("Last-Event-ID", &last)])
    {
        if event.name == "stdout" {
            heard += event.data["data"].as_str().unwrap();
        }
    }
    let expected: String = (0..400).map(|number| format!("{number}\n")).collect();
    assert_eq!(heard, expected, "output was lost or repeated");
}

#[test]
fn sandboxes_of_a_killed_daemon_are_gone_and_the_server_continues() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    server.send("POST", &format!("{sandbox}/processes"), &json!({ "command": ["sleep", "1000"] }));
    let sandbox_daemons = server.sandbox_daemons();
    // The daemon was started first, so it has the lowest process id.
    let daemon = rustix::process::Pid::from_raw(*sandbox_daemons.iter().min().unwrap()).unwrap();
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
    let began = std::time::Instant::now();
    while !server.sandbox_daemons().iter().all(|pid| !sandbox_daemons.contains(pid)) {
        assert!(
            began.elapsed().as_secs() < 20,
            "{sandbox_daemons:?} still run: {:?}",
            server.sandbox_daemons()
        );
        std::thread::yield_now();
    }
    assert_eq!(server.ask("GET", &sandbox).status, 404);
    let another = server.sandbox(&json!({}));
    assert_eq!(server.shell(&another, "echo again")["stdout"], "again\n");
}
