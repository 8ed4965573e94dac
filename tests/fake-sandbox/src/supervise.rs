//! Supervision of one running command: its program runs unless the sandbox is paused, until it exits, is killed or
//! times out.

use std::sync::Arc;
use std::time::Duration;

use menace_model::sandbox::ExecOutcome;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::invocation::{FakeExit, ProgramFuture};
use crate::machine::FakeMachine;

/// Runs a program until it exits, is killed or times out.
pub(crate) async fn supervise(
    running: RunningCommandGuard,
    program: ProgramFuture,
    mut signals: mpsc::UnboundedReceiver<i32>,
    timeout: Option<Duration>,
) -> ExecOutcome {
    let machine = Arc::clone(&running.0);
    let started = Instant::now();
    let end = tokio::select! {
        biased;
        () = wait_until_destroyed(&machine) => FakeProgramEnd::Exit(FakeExit::Signal(libc::SIGKILL)),
        signal = next_fatal(&mut signals) => FakeProgramEnd::Exit(FakeExit::Signal(signal)),
        () = wait_for(timeout) => FakeProgramEnd::TimedOut,
        exit = run_unless_paused(&machine, program) => FakeProgramEnd::Exit(exit),
    };
    let (exit_code, signal) = match end {
        FakeProgramEnd::Exit(FakeExit::Code(code)) => (Some(code), None),
        FakeProgramEnd::Exit(FakeExit::Signal(signal)) => (None, Some(signal)),
        FakeProgramEnd::TimedOut => (None, None),
    };
    ExecOutcome {
        exit_code,
        signal,
        timed_out: matches!(end, FakeProgramEnd::TimedOut),
        disk_full: machine.files().is_full(),
        wall_ms: started.elapsed().as_secs_f64() * 1000.0,
        ..ExecOutcome::default()
    }
}

enum FakeProgramEnd {
    Exit(FakeExit),
    TimedOut,
}

/// Counts a command for as long as it lives, also when its task is aborted.
pub(crate) struct RunningCommandGuard(Arc<FakeMachine>);

impl RunningCommandGuard {
    pub(crate) fn new(machine: &Arc<FakeMachine>) -> Self {
        machine.running.send_modify(|count| *count += 1);
        Self(Arc::clone(machine))
    }
}

impl Drop for RunningCommandGuard {
    fn drop(&mut self) {
        self.0.running.send_modify(|count| *count -= 1);
    }
}

async fn wait_until_destroyed(machine: &FakeMachine) {
    let mut destroyed = machine.destroyed.subscribe();
    destroyed
        .wait_for(|destroyed| *destroyed)
        .await
        .expect("the machine owns the sender and is borrowed here");
}

async fn next_fatal(signals: &mut mpsc::UnboundedReceiver<i32>) -> i32 {
    loop {
        match signals.recv().await {
            Some(signal) if is_fatal(signal) => return signal,
            Some(_) => {}
            // The process was dropped, which aborts this task.
            None => std::future::pending().await,
        }
    }
}

/// Whether the default action of a signal ends a program; see `signal(7)`.
pub(crate) fn is_fatal(signal: i32) -> bool {
    !matches!(signal, 0 | libc::SIGCHLD | libc::SIGCONT | libc::SIGURG | libc::SIGWINCH)
}

async fn wait_for(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}

/// Polls the program unless the sandbox is paused: a program that is not polled does nothing.
async fn run_unless_paused(machine: &FakeMachine, mut program: ProgramFuture) -> FakeExit {
    let mut paused = machine.paused.subscribe();
    loop {
        if *paused.borrow_and_update() {
            paused
                .wait_for(|paused| !paused)
                .await
                .expect("the machine owns the sender and is borrowed here");
        }
        tokio::select! {
            biased;
            _ = paused.changed() => {}
            exit = &mut program => return exit,
        }
    }
}
