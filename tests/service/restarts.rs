//! A server that is killed loses nothing, and what is lost is gone.

use menace_tests::Server;
use menace_tests::http::Events;
use serde_json::json;

#[test]
fn a_server_that_was_killed_finds_its_sandboxes_and_their_processes() {
    let mut server = Server::start();
    let sandbox = server.sandbox(&json!({ "project_name": "stays" }));
    server.shell(&sandbox, "echo kept > file");
    let counting = "i=0; while [ $i -lt 400 ]; do echo $i; i=$((i+1)); sleep 0.005; done";
    let mut events = Events::of(server.exec(&sandbox, counting));
    let process = events.next().unwrap().data["process_id"].as_str().unwrap().to_owned();
    let (mut heard, mut last) = (String::new(), "0".to_owned());
    for event in events.by_ref().filter(|event| event.name == "stdout").take(20) {
        heard += event.data["data"].as_str().unwrap();
        last = event.id.unwrap();
    }
    server.kill_and_start_again();
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
    assert_eq!(heard, expected, "something was lost or heard twice");
}

#[test]
fn what_nobody_holds_any_more_is_gone_and_the_server_goes_on() {
    let server = Server::start();
    let sandbox = server.sandbox(&json!({}));
    server.send("POST", &format!("{sandbox}/processes"), &json!({ "command": ["sleep", "1000"] }));
    let keepers = server.keepers();
    // The one that holds them was there first.
    let keeper = rustix::process::Pid::from_raw(*keepers.iter().min().unwrap()).unwrap();
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).unwrap();
    let began = std::time::Instant::now();
    while !server.keepers().iter().all(|pid| !keepers.contains(pid)) {
        assert!(began.elapsed().as_secs() < 20, "{keepers:?} are still there: {:?}", server.keepers());
        std::thread::yield_now();
    }
    assert_eq!(server.ask("GET", &sandbox).status, 404);
    let another = server.sandbox(&json!({}));
    assert_eq!(server.shell(&another, "echo again")["stdout"], "again\n");
}
