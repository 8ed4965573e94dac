//! Every page in a browser: no errors, no serious axe-core findings, and every action is tried.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use menace_store::Store;
use menace_tests::TestServer;
use serde_json::json;

use crate::browser::{BrowserTests, is_browser_installed};
use crate::data::{ELEMENT, FinishedRun};

#[tokio::test]
async fn pages_of_finished_and_running_runs_render() {
    if !is_browser_installed() {
        return;
    }
    let finished = FinishedRun::make();
    let data = tempfile::tempdir().unwrap();
    let copied =
        Command::new("cp").arg("-r").arg(finished.data().join(".")).arg(data.path()).status().unwrap();
    assert!(copied.success());
    let server = TestServer::in_directory(data, &[]);
    let address = format!("http://{}", server.address);
    let tests =
        ["pages", "dark", "phone", "matrix", "patches", "hostile"].map(|name| (name, address.as_str()));
    BrowserTests::start(&tests).end();
    let mut live = BrowserTests::start(&[("live", &address)]);
    live.wait_for("listening");
    let store = Store::open("sqlite:///menace.db", server.directory.path()).await.unwrap();
    let run = store.runs(1).await.unwrap().remove(0).id;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let detail = json!({"event": "stopped", "reason": format!("seen in a browser {now}")});
    store.add_event(&run, i64::try_from(now).unwrap(), "run:stopped", &detail).await.unwrap();
    live.end();
    let log = server.directory.path().join("logs/loop.log");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, format!("first {ELEMENT}\n")).unwrap();
    let mut logs = BrowserTests::start(&[("logs", &address)]);
    logs.wait_for("listening");
    std::fs::write(&log, format!("first {ELEMENT}\nsecond line\n")).unwrap();
    logs.end();
}

#[test]
fn a_real_run_is_followed_from_its_calls_to_its_end() {
    if !is_browser_installed() {
        return;
    }
    FinishedRun::of_example(|shown| {
        BrowserTests::start(&[("running", &format!("http://{}", shown.address))]).end();
    });
}

#[test]
fn sandboxes_are_created_and_used_in_the_browser() {
    if !is_browser_installed() {
        return;
    }
    let server = TestServer::start();
    let address = format!("http://{}", server.address);
    BrowserTests::start(&[("empty", &address), ("sandboxes", &address)]).end();
}

#[test]
fn with_keys_the_page_asks_for_a_key() {
    if !is_browser_installed() {
        return;
    }
    let server = TestServer::with(&["--require-key"]);
    let made = menace_tests::MenaceInvocation::new(server.directory.path(), server.directory.path())
        .arguments(["keys", "create", "--data-dir", ".", "--json"])
        .run();
    let key: serde_json::Value = serde_json::from_str(&made.stdout).unwrap();
    // The server rereads its keys once a second.
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    BrowserTests::start(&[("keyed", &format!("http://{} {}", server.address, key["key"].as_str().unwrap()))])
        .end();
}
