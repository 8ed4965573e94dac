//! Tests of the store with real files.

use std::path::Path;
use std::time::Instant;

use menace_model::calls::OutcomeKind;
use menace_model::ids::RunId;
use serde_json::json;

use crate::{CallFilter, CallRecord, MetricRecord, RunRecord, RunState, Store, StoreError};

const ADDRESS: &str = "sqlite:///menace.db";

async fn open(directory: &Path) -> Store {
    Store::open(ADDRESS, directory).await.unwrap()
}

fn run(number: u64) -> RunRecord {
    RunRecord {
        id: RunId::new(1_000_000 + number, 0),
        repository: "/shop".into(),
        state: RunState::Running,
        seed: u64::MAX,
        began_ms: 5,
        ended_ms: None,
        planned: 3,
        options: json!({"modules": []}),
        report: None,
    }
}

fn call(run: &RunId, number: u64, kind: OutcomeKind) -> CallRecord {
    CallRecord {
        id: run.call(number),
        section: format!("shop.cart:section_{}", number % 100),
        scenario: "normal".into(),
        spec: json!({"seed": number}),
        kind,
        wall_ms: 1.5,
        detail: json!({"value": "1"}),
    }
}

#[tokio::test]
async fn stored_data_survives_closing_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let run = run(1);
    store.begin_run(&run).await.unwrap();
    let calls = [call(&run.id, 0, OutcomeKind::Ok), call(&run.id, 1, OutcomeKind::Crash)];
    store.record(&calls).await.unwrap();
    // Stored twice, as after a crash between the write and its confirmation.
    store.record(&calls[..1]).await.unwrap();
    store.set_run_state(&run.id, RunState::Finished, Some(9), Some(&json!({"calls": 2}))).await.unwrap();
    store.close().await.unwrap();

    let store = open(directory.path()).await;
    let stored = store.run(&run.id).await.unwrap();
    assert_eq!((stored.seed, stored.state, stored.ended_ms), (u64::MAX, RunState::Finished, Some(9)));
    assert_eq!(stored.report, Some(json!({"calls": 2})));
    assert_eq!(store.call(&run.id.call(1)).await.unwrap(), calls[1]);
    assert!(matches!(store.call(&run.id.call(7)).await, Err(StoreError::NoCall(_))));
    assert!(matches!(store.run(&RunId::new(1, 1)).await, Err(StoreError::NoRun(_))));
    let mut kinds = store.kinds(&run.id).await.unwrap();
    kinds.sort();
    assert_eq!(kinds, [("crash".to_owned(), 1), ("ok".to_owned(), 1)]);
}

#[tokio::test]
async fn pages_are_in_the_order_of_the_plan_and_filtered() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let (run, other) = (run(1), run(2));
    let kind = |number: u64| if number.is_multiple_of(10) { OutcomeKind::Crash } else { OutcomeKind::Ok };
    let calls: Vec<_> = (0..500).rev().map(|number| call(&run.id, number, kind(number))).collect();
    store.record(&calls).await.unwrap();
    store.record(&[call(&other.id, 0, OutcomeKind::Crash)]).await.unwrap();

    let numbers = async |filter: CallFilter| -> Vec<u64> {
        store.calls(&run.id, &filter).await.unwrap().iter().map(|call| call.id.number()).collect()
    };
    assert_eq!(numbers(CallFilter { limit: 3, ..Default::default() }).await, [0, 1, 2]);
    let crashes =
        CallFilter { kind: Some(OutcomeKind::Crash), after: Some(10), limit: 2, ..Default::default() };
    assert_eq!(numbers(crashes.clone()).await, [20, 30]);
    let section = CallFilter { section: Some("shop.cart:section_40".into()), limit: 9, ..crashes };
    assert_eq!(numbers(section).await, [40, 140, 240, 340, 440]);
}

#[tokio::test]
async fn workflows_are_found_by_number_and_name() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let steps = ["shop.cart:add".to_owned(), "shop.cart:checkout".to_owned()];
    let id = store.add_workflow("checkout", &steps, 1).await.unwrap();
    assert!(matches!(store.add_workflow("checkout", &steps, 1).await, Err(StoreError::WorkflowExists(_))));
    assert_eq!(store.workflow("checkout").await.unwrap(), store.workflow(&id.to_string()).await.unwrap());
    assert_eq!(store.workflows().await.unwrap()[0].steps, steps);
    store.remove_workflow("checkout").await.unwrap();
    assert!(matches!(store.workflow("checkout").await, Err(StoreError::NoWorkflow(_))));
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_moved_aside() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("menace.db"), "not a database at all, but long enough to be one")
        .unwrap();
    let store = open(directory.path()).await;
    assert!(store.runs(10).await.unwrap().is_empty());
    assert!(directory.path().join("menace.db.broken-1").is_file());
}

#[tokio::test]
async fn readable_rows_of_a_broken_file_are_recovered() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("menace.db");
    let store = open(directory.path()).await;
    let run = run(1);
    store.begin_run(&run).await.unwrap();
    for first in 0..20 {
        let calls: Vec<_> =
            (first * 200..first * 200 + 200).map(|number| call(&run.id, number, OutcomeKind::Ok)).collect();
        store.record(&calls).await.unwrap();
    }
    store.close().await.unwrap();
    // Overwrites some pages, but none of the schema. The write-ahead log indicates that menace did not exit cleanly.
    let mut bytes = std::fs::read(&file).unwrap();
    for page in bytes.chunks_mut(4096).skip(50).step_by(30) {
        page.fill(0xff);
    }
    std::fs::write(&file, bytes).unwrap();
    std::fs::write(directory.path().join("menace.db-wal"), "").unwrap();

    let store = open(directory.path()).await;
    assert!(directory.path().join("menace.db.broken-1").is_file());
    assert_eq!(store.run(&run.id).await.unwrap().repository, "/shop");
    let saved = store.calls(&run.id, &CallFilter { limit: 5000, ..Default::default() }).await.unwrap().len();
    assert!((1000..4000).contains(&saved), "{saved} of 4000");
}

#[tokio::test]
async fn other_databases_are_refused_without_their_secrets() {
    let error = Store::open("postgresql://menace:hunter2@db/menace", Path::new("/tmp")).await.unwrap_err();
    assert!(!error.to_string().contains("hunter2") && error.to_string().contains("postgresql"), "{error}");
}

#[tokio::test]
#[ignore = "a measurement: cargo test --release -p menace-store -- --ignored --nocapture million"]
async fn a_page_of_a_million() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let run = run(1);
    store.begin_run(&run).await.unwrap();
    let kind = |number: u64| if number.is_multiple_of(997) { OutcomeKind::Crash } else { OutcomeKind::Ok };
    let clock = Instant::now();
    for first in (0..1_000_000).step_by(1000) {
        let calls: Vec<_> = (first..first + 1000).map(|number| call(&run.id, number, kind(number))).collect();
        store.record(&calls).await.unwrap();
    }
    println!("stored a million in {:.1} s", clock.elapsed().as_secs_f64());
    let everything = CallFilter { limit: 100, ..Default::default() };
    for (what, filter) in [
        ("first page", everything.clone()),
        ("last page", CallFilter { after: Some(999_900 - 1), ..everything.clone() }),
        (
            "crashes from the middle",
            CallFilter { kind: Some(OutcomeKind::Crash), after: Some(500_000), ..everything.clone() },
        ),
        ("one section", CallFilter { section: Some("shop.cart:section_77".into()), ..everything.clone() }),
        (
            "crashes of one section",
            CallFilter {
                section: Some("shop.cart:section_77".into()),
                kind: Some(OutcomeKind::Crash),
                ..everything
            },
        ),
    ] {
        let clock = Instant::now();
        let page = store.calls(&run.id, &filter).await.unwrap();
        let took = clock.elapsed();
        println!("{what}: {} in {:.1} ms", page.len(), took.as_secs_f64() * 1e3);
        assert!(took.as_millis() < 100, "{what} took {took:?}");
    }
    let clock = Instant::now();
    store.kinds(&run.id).await.unwrap();
    println!("counts: {:.1} ms", clock.elapsed().as_secs_f64() * 1e3);
}

#[tokio::test]
async fn metrics_are_read_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open("sqlite:///metrics.db", directory.path()).await.unwrap();
    let record = |cycle: u64, module: &str, name: &str| MetricRecord {
        run: "r".into(),
        cycle,
        at_ms: 1,
        module: module.into(),
        scenario: String::new(),
        name: name.into(),
        value: cycle as f64 / 3.0,
    };
    let many: Vec<MetricRecord> = (0..5_000).map(|cycle| record(cycle, "a.py", "reliability")).collect();
    store.add_metrics(&many).await.unwrap();
    store.add_metrics(&[record(1, "", "reliability"), record(1, "a.py", "roi")]).await.unwrap();
    assert_eq!(store.metrics("reliability", "a.py").await.unwrap(), many);
    assert_eq!(store.metrics("reliability", "").await.unwrap().len(), 1);
    assert!(store.metrics("luck", "").await.unwrap().is_empty());
}
