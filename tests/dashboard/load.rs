//! Many cells, and many watchers.

use std::time::{Duration, Instant};

use menace_store::{RunRecord, RunState, Store};
use serde_json::json;

use crate::browser::{BrowserTests, is_browser_installed};
use crate::data::DashboardProcess;

const SCENARIOS: [&str; 10] = [
    "normal",
    "hostile_input",
    "user_misuse",
    "schema_drift",
    "timeout",
    "memory",
    "disk",
    "cpu",
    "network",
    "latency",
];

/// Stores a fabricated run with many sections under ten scenarios.
async fn store_large_run(data: &std::path::Path, sections: usize) {
    let store = Store::open("sqlite:///menace.db", data).await.unwrap();
    let id: menace_model::ids::RunId = "r_01kbz7q3m9x4vt".parse().unwrap();
    let cells: Vec<serde_json::Value> = (0..sections)
        .flat_map(|section| {
            SCENARIOS.iter().enumerate().map(move |(column, scenario)| {
                let n = (section + column) % 12;
                let well = n - n.min(section % 3);
                let void = (n == 0).then_some("nothing to disturb");
                json!({"section": format!("package.module_{}:f{section}", section / 40), "scenario": scenario, "severity": null,
                       "n": n, "ok": well, "robustness": null, "interval": null, "void_reason": void})
            })
        })
        .collect();
    let run = RunRecord {
        id: id.clone(),
        repository: "/src/large".into(),
        state: RunState::Running,
        seed: 0,
        began_ms: 1_794_982_331_369,
        ended_ms: None,
        planned: 0,
        options: json!({}),
        report: None,
    };
    store.begin_run(&run).await.unwrap();
    let report = json!({"version": 1, "sections": sections, "reached": sections, "calls": 0, "seconds": 0.0, "cells": cells, "failures": []});
    store.set_run_state(&id, RunState::Finished, Some(1_794_982_443_864), Some(&report)).await.unwrap();
    store.close().await.unwrap();
}

#[tokio::test]
async fn only_visible_rows_of_ten_thousand_are_rendered() {
    if !is_browser_installed() {
        return;
    }
    for sections in [1_000, 10_000] {
        let directory = tempfile::tempdir().unwrap();
        store_large_run(directory.path(), sections).await;
        let shown = DashboardProcess::of(directory.path(), &[]);
        BrowserTests::start(&[("many", &format!("http://{}", shown.address))]).end();
    }
}

#[tokio::test]
async fn fifty_watchers_get_an_event_from_one_poll() {
    let directory = tempfile::tempdir().unwrap();
    store_large_run(directory.path(), 1).await;
    let shown = DashboardProcess::of(directory.path(), &[]);
    let mut listeners: Vec<_> = (0..50).map(|_| shown.events(&[])).collect();
    // The task that polls for all watchers has to have started.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let store = Store::open("sqlite:///menace.db", directory.path()).await.unwrap();
    let id = "r_01kbz7q3m9x4vt".parse().unwrap();
    let told = Instant::now();
    store.add_event(&id, 1, "cycle:began", &json!({"cycle": 7})).await.unwrap();
    for listener in &mut listeners {
        let event = listener.next().unwrap().data;
        assert_eq!(event["detail"]["cycle"], 7);
    }
    let took = told.elapsed();
    assert!(took < Duration::from_secs(2), "the last of fifty watchers got the event after {took:?}");
}
