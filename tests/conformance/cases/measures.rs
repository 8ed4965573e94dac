//! Measured usage. A value that a backend cannot measure is absent; a value that is present has to be correct.

use std::time::Duration;

use menace_model::sandbox::{ExecRequest, ResourceController, ResourceUsage};
use menace_sandbox::{Backend, Sandbox};

use crate::harness::{PROMPT, finish, read, read_at_least, sandbox, script, skip_unclaimed};

fn cpu_ms(usage: ResourceUsage) -> Option<f64> {
    Some(usage.cpu_user_ms? + usage.cpu_system_ms?)
}

async fn processes(sandbox: &dyn Sandbox) -> Option<u64> {
    sandbox.stats().await.unwrap().pids
}

pub(crate) async fn stats_count_processes(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    let Some(before) = processes(&*sandbox).await else {
        return skip_unclaimed(backend, "counting processes");
    };
    let mut running = Vec::new();
    for _ in 0..3 {
        let mut process = sandbox.spawn(script("echo ready; exec sleep 100")).await.unwrap();
        read_at_least(&mut *process, "ready\n".len()).await;
        running.push(process);
    }
    let during = processes(&*sandbox).await.unwrap();
    assert!(during >= before + 3, "{before} before, {during} with three commands");
    for process in &mut running {
        process.signal(libc::SIGKILL).await.unwrap();
        finish(&mut **process).await;
    }
    // The kernel counts a process until its parent has reaped it, which can be after its exit was reported.
    let back = async {
        while processes(&*sandbox).await != Some(before) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PROMPT, back).await.expect("processes that ended are not counted");
}

pub(crate) async fn cpu_time_grows(backend: &dyn Backend) {
    if !backend.capabilities().controllers.contains_key(&ResourceController::CpuAccounting) {
        return skip_unclaimed(backend, "counting CPU time");
    }
    let sandbox = sandbox(backend).await;
    let mut last = cpu_ms(sandbox.stats().await.unwrap().usage).expect("CPU time is counted");
    for _ in 0..2 {
        let outcome = sandbox.exec(script("seq 1 3000000 > /dev/null")).await.unwrap();
        let taken = cpu_ms(outcome.usage).expect("CPU time is counted");
        let now = cpu_ms(sandbox.stats().await.unwrap().usage).expect("CPU time is counted");
        assert!(taken > 1.0, "counting to three million takes more than {taken} ms");
        assert!(now >= last + taken * 0.5, "{last} ms before, {now} ms after a command of {taken} ms");
        last = now;
    }
}

pub(crate) async fn usage_of_a_command_is_plausible(backend: &dyn Backend) {
    let sandbox = sandbox(backend).await;
    read(&*sandbox, "seq 1 3000000 > /dev/null").await;
    let outcome = sandbox.exec(ExecRequest::new(["sleep", "0.2"])).await.unwrap();
    match cpu_ms(outcome.usage) {
        Some(taken) => {
            assert!(
                (0.0..200.0).contains(&taken),
                "sleeping took {taken} ms of CPU time, or another command was counted"
            );
        }
        None => skip_unclaimed(backend, "CPU time of a command"),
    }
    match outcome.usage.peak_rss_bytes {
        Some(peak) => assert!((100 << 10..1 << 30).contains(&peak), "{peak} bytes for sleep"),
        None => skip_unclaimed(backend, "memory of a command"),
    }
}
