//! Commands with streamed output.

use menace_tests::TestServer;
use menace_tests::http::{EventStream, WebSocketMessage};
use serde_json::{Value, json};

fn printed(events: &[menace_tests::http::ServerEvent], stream: &str) -> String {
    let of_stream = events.iter().filter(|event| event.name == stream);
    of_stream.map(|event| event.data["data"].as_str().unwrap()).collect()
}

#[test]
fn command_output_is_streamed() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let events: Vec<_> = EventStream::of(server.exec(&sandbox, "echo out; echo err >&2; exit 3")).collect();
    assert_eq!(events.first().unwrap().name, "init");
    assert_eq!(
        (printed(&events, "stdout"), printed(&events, "stderr")),
        ("out\n".to_owned(), "err\n".to_owned())
    );
    let last = events.last().unwrap();
    assert_eq!((last.name.as_str(), &last.data["exit_code"]), ("exit", &json!(3)));
}

#[test]
fn a_disconnected_reader_resumes_where_it_stopped() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let program = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done";
    let expected: String = (0..3000).map(|number| format!("line {number}\n")).collect();
    let mut events = EventStream::of(server.exec(&sandbox, program));
    let init = events.next().unwrap();
    let path = format!("{sandbox}/processes/{}/events", init.data["process_id"].as_str().unwrap());
    let (mut heard, mut last, mut is_over) = (String::new(), "0".to_owned(), false);
    while !is_over {
        // Disconnect after a few events.
        for event in events.by_ref().take(3) {
            match event.name.as_str() {
                "stdout" => {
                    heard += event.data["data"].as_str().unwrap();
                    last = event.id.unwrap();
                }
                "exit" => is_over = true,
                "init" => {}
                other => panic!("{other}: {}", event.data),
            }
        }
        drop(events);
        events = server.events(&path, &[("Last-Event-ID", &last)]);
    }
    assert_eq!(heard, expected);
}

#[test]
fn binary_output_arrives_unchanged() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let events: Vec<_> = EventStream::of(server.exec(&sandbox, r"printf '\377\000\001'")).collect();
    let event = events.iter().find(|event| event.name == "stdout").unwrap();
    assert_eq!((&event.data["encoding"], &event.data["data"]), (&json!("base64"), &json!("/wAB")));
}

#[test]
fn background_commands_have_logs_stdin_and_signals() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let start = |line: &str| -> String {
        let body = json!({ "command": ["sh", "-c", line] });
        let started = server.send("POST", &format!("{sandbox}/processes"), &body);
        assert_eq!(started.status, 201, "{}", started.text());
        format!("{sandbox}/processes/{}", started.json()["process_id"].as_str().unwrap())
    };
    let cat = start("cat; echo done >&2");
    assert_eq!(server.ask_with("POST", &format!("{cat}/stdin"), &[], b"typed\n").status, 204);
    assert_eq!(server.ask("POST", &format!("{cat}/stdin?close=true")).status, 204);
    let events: Vec<_> = server.events(&format!("{cat}/events"), &[]).collect();
    assert_eq!(events.last().unwrap().data["exit_code"], 0);
    assert_eq!(server.ask("GET", &format!("{cat}/logs?stream=stdout")).text(), "typed\n");
    assert_eq!(server.ask("GET", &format!("{cat}/logs?stream=stderr")).text(), "done\n");
    assert_eq!(server.ask("GET", &format!("{cat}/logs?stream=stdout&tail=3")).text(), "ed\n");
    let trapped = start("trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep 0.05; done");
    let mut events = server.events(&format!("{trapped}/events"), &[]);
    assert!(events.any(|event| event.data["data"] == "ready\n"));
    let signal =
        |name: &Value| server.send("POST", &format!("{trapped}/signal"), &json!({ "signal": name })).status;
    assert_eq!((signal(&json!("NOPE")), signal(&json!("TERM"))), (422, 204));
    assert_eq!(events.last().unwrap().data["exit_code"], 7);
    assert_eq!(signal(&json!(9)), 409);
    let forever = start("sleep 1000 & sleep 1000");
    let ended = server.ask("DELETE", &forever);
    assert_eq!((ended.status, &ended.json()["end"]["signal"]), (200, &json!(9)));
    assert_eq!(server.ask("GET", &forever).code(), "process_not_found");
    assert_eq!(server.shell(&sandbox, "ps ax | grep -c '[s]leep 1000'")["stdout"], "0\n");
}

#[test]
fn a_terminal_is_a_tty_for_its_programs() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let mut terminal = server.web_socket(&format!("{sandbox}/terminal?columns=90&rows=30"));
    let mut screen = String::new();
    let mut until = |terminal: &mut menace_tests::http::WebSocket, text: &str| {
        while !screen.contains(text) {
            match terminal.receive() {
                WebSocketMessage::Binary(bytes) => screen += &String::from_utf8_lossy(&bytes),
                other => panic!("{other:?} after {screen:?}"),
            }
        }
        screen.clear();
    };
    terminal.send(&WebSocketMessage::Binary(b"tty; stty size\n".to_vec()));
    until(&mut terminal, "30 90");
    terminal.send(&WebSocketMessage::Text(r#"{"columns": 100, "rows": 40}"#.into()));
    terminal.send(&WebSocketMessage::Binary(b"stty size\n".to_vec()));
    until(&mut terminal, "40 100");
    // Ctrl-C reaches the foreground process. That process prints `waiting` itself: if the shell printed it, the shell might
    // not have handed over the terminal yet and would swallow the signal.
    terminal.send(&WebSocketMessage::Binary(b"sh -c 'echo wai\"\"ting; exec sleep 100'\n".to_vec()));
    until(&mut terminal, "waiting");
    terminal.send(&WebSocketMessage::Binary(vec![3]));
    terminal.send(&WebSocketMessage::Binary(b"exit 5\n".to_vec()));
    loop {
        match terminal.receive() {
            WebSocketMessage::Binary(_) => {}
            WebSocketMessage::Text(text) => {
                assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["exit_code"], 5);
                return;
            }
            WebSocketMessage::Close => panic!("the socket closed without an exit message"),
        }
    }
}

#[test]
fn an_event_id_beyond_the_last_does_not_hang() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let init = EventStream::of(server.exec(&sandbox, "echo x")).next().unwrap();
    let path = format!("{sandbox}/processes/{}/events", init.data["process_id"].as_str().unwrap());
    let heard: Vec<_> = server.events(&path, &[("Last-Event-ID", &u64::MAX.to_string())]).collect();
    assert_eq!(heard.last().unwrap().name, "exit");
    assert_eq!(server.ask_with("GET", &path, &[("Last-Event-ID", "x")], b"").status, 422);
}

#[test]
fn a_terminal_needs_a_web_socket() {
    let server = TestServer::start();
    let sandbox = server.sandbox(&json!({}));
    let answer = server.ask("GET", &format!("{sandbox}/terminal"));
    assert_eq!(answer.code(), "no_websocket");
}
