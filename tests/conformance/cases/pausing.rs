//! Pausing and resuming. The command counts as fast as it can, and its output shows whether it runs.

use std::time::Duration;

use menace_model::sandbox::ExecRequest;
use menace_sandbox::{Backend, ProcessEvent, Sandbox, SandboxProcess};

use crate::harness::{PROMPT, read_at_least, sandbox, skip_unclaimed};

/// A command that counts prints thousands of lines in this time.
const SILENCE: Duration = Duration::from_millis(300);

async fn counter(sandbox: &dyn Sandbox) -> Box<dyn SandboxProcess> {
    sandbox.spawn(ExecRequest::new(["seq", "1", "1000000000"])).await.unwrap()
}

/// Reads remaining output until the command is silent. A command that is not paused is never silent.
async fn drain(process: &mut dyn SandboxProcess) -> String {
    let mut printed = Vec::new();
    while let Ok(event) = tokio::time::timeout(SILENCE, process.next()).await {
        match event.unwrap() {
            ProcessEvent::Stdout(bytes) => printed.extend(bytes),
            other => panic!("{other:?}"),
        }
        assert!(printed.len() < 4 << 20, "the command continues, far beyond what a pipe holds");
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
        return skip_unclaimed(backend, "pausing");
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

pub(crate) async fn pausing_is_idempotent(backend: &dyn Backend) {
    if backend.capabilities().pause.is_none() {
        return skip_unclaimed(backend, "pausing");
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

pub(crate) async fn resuming_a_running_sandbox_is_a_no_op(backend: &dyn Backend) {
    if backend.capabilities().pause.is_none() {
        return skip_unclaimed(backend, "pausing");
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
        return skip_unclaimed(backend, "pausing");
    }
    let sandbox = sandbox(backend).await;
    let mut process = counter(&*sandbox).await;
    read_at_least(&mut *process, 1).await;
    sandbox.pause().await.unwrap();
    let stats =
        tokio::time::timeout(PROMPT, sandbox.stats()).await.expect("stats do not wait for a paused process");
    assert!(stats.unwrap().pids.is_none_or(|pids| pids >= 1), "the command must still be counted");
}

pub(crate) async fn a_paused_sandbox_can_be_destroyed(backend: &dyn Backend) {
    if backend.capabilities().pause.is_none() {
        return skip_unclaimed(backend, "pausing");
    }
    if !backend.capabilities().ends_at_once {
        return skip_unclaimed(backend, "ending immediately while the output of a command is unread");
    }
    let sandbox = sandbox(backend).await;
    let mut process = counter(&*sandbox).await;
    read_at_least(&mut *process, 1).await;
    sandbox.pause().await.unwrap();
    tokio::time::timeout(PROMPT, sandbox.destroy()).await.expect("destroy returns immediately").unwrap();
}
