//! Agents: their changes become patches, and models use sandboxes as MCP tools.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use menace_tests::{MenaceInvocation, menace_binary};
use serde_json::{Value, json};

#[test]
fn agent_changes_become_a_patch_and_leave_the_project_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let (project, home) = (directory.path().join("project"), directory.path());
    fs::create_dir(&project).unwrap();
    fs::write(project.join("f.txt"), "a\nb\n").unwrap();
    fs::write(project.join("gone.txt"), "x\n").unwrap();
    let agent = "echo c >> f.txt; rm gone.txt; mkdir d; echo new > d/n.txt; exit 4";
    let ran = MenaceInvocation::new(&project, home)
        .arguments(["sandbox", "attach", "--patch", "../out.diff", "--", "sh", "-c", agent])
        .run();
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(project.join("f.txt")).unwrap(), "a\nb\n", "the directory was changed");
    let copy = directory.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for name in ["f.txt", "gone.txt"] {
        fs::copy(project.join(name), copy.join(name)).unwrap();
    }
    let applied =
        std::process::Command::new("git").args(["apply", "../out.diff"]).current_dir(&copy).output().unwrap();
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    let applied = MenaceInvocation::new(&project, home)
        .arguments(["sandbox", "attach", "--apply", "--", "sh", "-c", agent])
        .run();
    assert_eq!(applied.code, Some(4), "{}", applied.stderr);
    for place in [&project, &copy] {
        assert_eq!(fs::read_to_string(place.join("f.txt")).unwrap(), "a\nb\nc\n");
        assert_eq!(fs::read_to_string(place.join("d/n.txt")).unwrap(), "new\n");
        assert!(!place.join("gone.txt").exists());
    }
}

#[test]
fn attaching_from_a_terminal_gives_a_terminal_inside() {
    let directory = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/service/at_a_terminal.py");
    let sat = MenaceInvocation::of("python3", directory.path(), directory.path())
        .arguments([Path::new(script), menace_binary()])
        .run();
    assert_eq!((sat.code, sat.stdout.as_str()), (Some(0), "as it should be\n"), "{}", sat.stderr);
}

#[test]
fn sandboxes_are_mcp_tools_over_stdio() {
    let directory = tempfile::tempdir().unwrap();
    let message = |id: u32, method: &str, parameters: &Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }).to_string() + "\n"
    };
    let session = |messages: String| -> Vec<Value> {
        let ran = MenaceInvocation::new(directory.path(), directory.path())
            .arguments(["mcp"])
            .input(messages)
            .run();
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let mut answers: Vec<Value> =
            ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        answers.sort_by_key(|answer| answer["id"].as_u64());
        answers
    };
    let call = |id, name: &str, arguments: &Value| {
        message(id, "tools/call", &json!({ "name": name, "arguments": arguments }))
    };
    let answers = session(
        message(1, "initialize", &json!({ "protocolVersion": "2025-03-26", "capabilities": {} }))
            + "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
            + &message(2, "tools/list", &json!({}))
            + &call(3, "create_sandbox", &json!({ "project_name": "model" }))
            + &message(4, "no/such", &json!({}))
            + &call(5, "no_such", &json!({}))
            + &call(6, "create_sandbox", &json!({ "memory_limit": "-1" })),
    );
    assert_eq!(answers.len(), 6, "{answers:?}");
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-03-26");
    assert!(answers[1]["result"]["tools"].as_array().unwrap().len() >= 8);
    assert_eq!(
        (&answers[3]["error"]["code"], &answers[4]["error"]["code"]),
        (&json!(-32601), &json!(-32602))
    );
    assert_eq!(answers[5]["result"]["isError"], true);
    let text = answers[2]["result"]["content"][0]["text"].as_str().unwrap();
    let id = serde_json::from_str::<Value>(text).unwrap()["sandbox_id"].clone();
    let file = json!({ "sandbox_id": id, "path": "/workspace/a.py", "content": "print(6 * 7)" });
    assert_eq!(session(call(1, "write_file", &file))[0]["result"]["isError"], false);
    let run = json!({ "sandbox_id": id, "command": ["python3", "a.py"] });
    let said = session(call(1, "execute", &run))[0]["result"]["content"][0]["text"].clone();
    assert_eq!(said, "exit code 0\n--- stdout\n42\n");
    session(call(1, "destroy_sandbox", &json!({ "sandbox_id": id })));
    assert_eq!(session(call(1, "execute", &run))[0]["result"]["isError"], true);
}

#[test]
fn the_official_mcp_client_uses_the_tools() {
    let directory = tempfile::tempdir().unwrap();
    let over_http = McpHttpServer::start(directory.path());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../ui/tests/tools.mjs");
    let used = MenaceInvocation::of("node", directory.path(), directory.path())
        .arguments([Path::new(script), menace_binary(), &directory.path().join("stdio")])
        .arguments([&over_http.address])
        .run();
    assert_eq!((used.code, used.stdout.as_str()), (Some(0), "as it should be\n"), "{}", used.stderr);
}

/// `menace mcp --port 0`, which ends with the test.
struct McpHttpServer {
    process: std::process::Child,
    address: String,
}

impl McpHttpServer {
    fn start(directory: &Path) -> Self {
        let mut process = std::process::Command::new(menace_binary())
            .args(["mcp", "--port", "0", "--data-dir"])
            .arg(directory.join("data"))
            .current_dir(directory)
            .env("HOME", directory)
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("http://")).expect("the server prints its address");
        let address = line.split("http://").nth(1).unwrap().trim_end_matches("/mcp").to_owned();
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, address }
    }

    fn send(&self, headers: &[(&str, &str)], message: &Value) -> menace_tests::http::HttpResponse {
        let json = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        let headers: Vec<_> = json.into_iter().chain(headers.iter().copied()).collect();
        menace_tests::http::ask(&self.address, "POST", "/mcp", &headers, message.to_string().as_bytes())
    }

    fn call(&self, method: &str, parameters: &Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters });
        self.send(&[], &message).json()["result"].clone()
    }

    fn tool(&self, name: &str, arguments: &Value) -> Value {
        self.call("tools/call", &json!({ "name": name, "arguments": arguments }))
    }
}

impl Drop for McpHttpServer {
    fn drop(&mut self) {
        let id = rustix::process::Pid::from_child(&self.process);
        if rustix::process::kill_process(id, rustix::process::Signal::TERM).is_ok() {
            drop(self.process.wait());
        }
    }
}

#[test]
fn sandboxes_are_mcp_tools_over_http() {
    let directory = tempfile::tempdir().unwrap();
    let model = McpHttpServer::start(directory.path());
    let begun = model.call("initialize", &json!({ "protocolVersion": "2025-03-26", "capabilities": {} }));
    assert_eq!(begun["protocolVersion"], "2025-03-26", "{begun}");
    let noted = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(model.send(&[], &noted).status, 202, "a notification has no answer");
    assert!(model.call("tools/list", &json!({}))["tools"].as_array().unwrap().len() >= 8);
    let made = model.tool("create_sandbox", &json!({ "project_name": "model" }));
    let id = serde_json::from_str::<Value>(made["content"][0]["text"].as_str().unwrap()).unwrap();
    let id = id["sandbox_id"].clone();
    let run = json!({ "sandbox_id": id, "command": ["python3", "-c", "print(6 * 7)"] });
    assert_eq!(model.tool("execute", &run)["content"][0]["text"], "exit code 0\n--- stdout\n42\n");
    assert_eq!(model.tool("destroy_sandbox", &json!({ "sandbox_id": id }))["isError"], false);
    assert_eq!(model.tool("execute", &run)["isError"], true);
    let page = model.send(&[("Origin", "https://example.com")], &noted);
    assert_eq!(page.status, 403, "a page in a browser has no tools");
}
