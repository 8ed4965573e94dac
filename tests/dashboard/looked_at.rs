//! Every page in a browser: no errors, nothing that axe-core finds serious, and everything that can be done is done.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use menace_store::Store;
use menace_tests::Server;
use serde_json::json;

use crate::browser::{Looking, is_there};
use crate::data::{ELEMENT, Finished};

#[tokio::test]
async fn a_finished_loop_and_one_that_goes_on_are_looked_at() {
    if !is_there() {
        return;
    }
    let finished = Finished::make();
    let data = tempfile::tempdir().unwrap();
    let copied =
        Command::new("cp").arg("-r").arg(finished.data().join(".")).arg(data.path()).status().unwrap();
    assert!(copied.success());
    let server = Server::in_directory(data, &[]);
    let address = format!("http://{}", server.address);
    let tests =
        ["pages", "dark", "phone", "matrix", "patches", "hostile"].map(|name| (name, address.as_str()));
    Looking::start(&tests).end();
    let mut live = Looking::start(&[("live", &address)]);
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
    let mut logs = Looking::start(&[("logs", &address)]);
    logs.wait_for("listening");
    std::fs::write(&log, format!("first {ELEMENT}\nsecond line\n")).unwrap();
    logs.end();
}

#[test]
fn a_real_loop_is_followed_from_its_calls_to_its_end() {
    if !is_there() {
        return;
    }
    Finished::of_the_example(|shown| Looking::start(&[("loop", &format!("http://{}", shown.address))]).end());
}

#[test]
fn sandboxes_are_made_and_used_by_hand() {
    if !is_there() {
        return;
    }
    let server = Server::start();
    let address = format!("http://{}", server.address);
    Looking::start(&[("empty", &address), ("sandboxes", &address)]).end();
}

#[test]
fn with_keys_the_page_asks_for_one() {
    if !is_there() {
        return;
    }
    let server = Server::with(&["--require-key"]);
    let made = menace_tests::Invocation::new(server.directory.path(), server.directory.path())
        .arguments(["keys", "create", "--data-dir", ".", "--json"])
        .run();
    let key: serde_json::Value = serde_json::from_str(&made.stdout).unwrap();
    // The server reads its keys once a second.
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    Looking::start(&[("keyed", &format!("http://{} {}", server.address, key["key"].as_str().unwrap()))])
        .end();
}
