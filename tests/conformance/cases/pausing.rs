//! Stopping and continuing. The command counts as fast as it can, and what it counts shows whether it runs.

use std::time::Duration;

use menace_model::sandbox::ExecRequest;
use menace_sandbox::{Backend, Event, Process, Sandbox};

use crate::harness::{PROMPT, leave_out, read_at_least, sandbox};

/// A command that counts prints thousands of lines in this time.
const SILENCE: Duration = Duration::from_millis(300);

async fn counter(sandbox: &dyn Sandbox) -> Box<dyn Process> {
    sandbox.spawn(ExecRequest::new(["seq", "1", "1000000000"])).await.unwrap()
}

/// What it still prints until it is silent. One that is not paused is never silent.
async fn drain(process: &mut dyn Process) -> String {
    let mut printed = Vec::new();
    while let Ok(event) = tokio::time::timeout(SILENCE, process.next()).await {
        match event.unwrap() {
            Event::Stdout(bytes) => printed.extend(bytes),
            other => panic!("{other:?}"),
        }
        assert!(printed.len() < 4 << 20, "the command goes on, far beyond what a pipe holds");
    }
    String::from_utf8(printed).unwrap()
}

fn assert_counts(printed: &str) {
    let whole_lines = &printed[..=printed.rfind('\n').unwrap()];
    for (expected, line) in (1_u64..).zip(whole_lines.lines()) {
        assert_eq!(line, expected.to_string());
    }
}

pub(crate) async fn pause_stops_and_resume_continues(backend: &dyn Backend) {
    if backend.capabilities().pause.is_none() {
        return leave_out(backend, "pausing");
    }
    let sandbox = sandbox(backend).await;
    let mut process = counter(&*sandbox).await;
    let mut printed = read_at_least(&mut *process, 1).await;
    for _ in 0..2 {
        sandbox.pause().await.unwrap();
        printed += &drain(&mut *process).await;
        sandbox.resume().await.unwrap();
        printed += &read_at_least(&mut *process, 100_000).await;
    }
    assert_counts(&printed);
}

pub(crate) async fn pausing_twice_is_the_same_as_once(backend: &dyn Backend) {
    if backend.capabilities().pause.is_none() {
        return leave_out(backend, "pausing");
    }
    let sandbox = sandbox(backend).await;
    let mut process = counter(&*sandbox).await;
    let mut printed = read_at_least(&mut *process, 1).await;
    sandbox.pause().await.unwrap();
    sandbox.pause().await.unwrap();
    printed += &drain(&mut *process).await;
    sandbox.resume().await.unwrap();
    printed += &read_at_least(&mut *process, 100_000).await;
    assert_counts(&printed);
}

pub(crate) async fn resuming_what_runs_changes_nothing(backend: &dyn Backend) {
    if backend.capabilities().pause.is_none() {
        return leave_out(backend, "pausing");
    }
    let sandbox = sandbox(backend).await;
    sandbox.resume().await.unwrap();
    let mut process = counter(&*sandbox).await;
    let mut printed = read_at_least(&mut *process, 1).await;
    sandbox.resume().await.unwrap();
    printed += &read_at_least(&mut *process, 100_000).await;
    assert_counts(&printed);
}

pub(crate) async fn a_paused_sandbox_has_stats(backend: &dyn Backend) {
    if backend.capabilities().pause.is_none() {
        return leave_out(backend, "pausing");
    }
    let sandbox = sandbox(backend).await;
    let mut process = counter(&*sandbox).await;
    read_at_least(&mut *process, 1).await;
    sandbox.pause().await.unwrap();
    let stats =
        tokio::time::timeout(PROMPT, sandbox.stats()).await.expect("stats wait for what stands still");
    assert!(stats.unwrap().pids.is_none_or(|pids| pids >= 1), "the command is still there");
}

pub(crate) async fn a_paused_sandbox_can_be_destroyed(backend: &dyn Backend) {
    if backend.capabilities().pause.is_none() {
        return leave_out(backend, "pausing");
    }
    if !backend.capabilities().ends_at_once {
        return leave_out(backend, "ending at once while nobody reads what a command prints");
    }
    let sandbox = sandbox(backend).await;
    let mut process = counter(&*sandbox).await;
    read_at_least(&mut *process, 1).await;
    sandbox.pause().await.unwrap();
    tokio::time::timeout(PROMPT, sandbox.destroy()).await.expect("it ends at once").unwrap();
}
