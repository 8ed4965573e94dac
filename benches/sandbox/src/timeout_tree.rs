//! Delay between a timeout and the end of a process tree that resists being killed.
//!
//! One tree after the other: the search for processes of concurrent trees would compete with the killing processes, and
//! the figure would be that of the observer.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::sandbox::{ExecRequest, SandboxSpec};
use menace_sandbox::native::NativeBackend;
use menace_sandbox::{Backend, ProcessEvent, Sandbox, SandboxProcess};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::error::BenchmarkError;
use crate::interruption::InterruptionSignals;
use crate::latency::{LatencySamples, LatencySummary};
use crate::processes;
use crate::report_progress;

/// Timeout of a tree.
const TIMEOUT: Duration = Duration::from_millis(50);
/// Time after which a process counts as alive.
const LONGEST_WAIT: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
/// Three sessions, two processes whose parents have ended, and a shell that ignores the signals that it can ignore.
/// Prints `ready` when all processes run.
const TREE: &str = "trap '' TERM HUP INT
(setsid sleep 1000 &)
setsid sh -c '(setsid sh -c \"sleep 1000 & sleep 1000\" &) ; echo ready; sleep 1000; sleep 1000' &
wait
sleep 1000";
/// Fewest processes of a complete tree, without the init process and the leader.
const FEWEST_PROCESSES: usize = 4;

/// Figures of all trees.
#[derive(Debug, Serialize)]
pub(crate) struct TimeoutTreeFigures {
    trees: usize,
    /// Trees of which no process was left.
    dead: usize,
    /// Trees that were not complete at their timeout. They are not counted.
    incomplete: usize,
    timeout_ms: u128,
    /// Time from the timeout to the end of the last process.
    late: Option<LatencySummary>,
    /// The same where the sandbox ends with its only command, as in `menace sandbox run`.
    late_in_own_sandbox: Option<LatencySummary>,
    /// The same where the sandbox outlives the command.
    late_in_shared_sandbox: Option<LatencySummary>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SandboxOwnership {
    Exclusive,
    Shared,
}

enum ProcessTreeOutcome {
    /// All processes ended, this long after the timeout.
    Dead(Duration),
    Alive,
    Incomplete,
}

/// Measures exclusive and shared sandboxes alternately; `None` if it was interrupted.
pub(crate) async fn measure(
    backend: &Arc<NativeBackend>,
    trees: usize,
    interruption: &mut InterruptionSignals,
) -> anyhow::Result<Option<TimeoutTreeFigures>> {
    report_progress("process trees", trees);
    let launcher = processes::launcher()?;
    let (mut dead, mut alive, mut incomplete) = (Vec::new(), 0, 0);
    while dead.len() + alive < trees {
        if interruption.was_received().await {
            return Ok(None);
        }
        let is_even = (dead.len() + alive).is_multiple_of(2);
        let ownership = if is_even { SandboxOwnership::Exclusive } else { SandboxOwnership::Shared };
        match measure_tree(backend, launcher, ownership).await? {
            ProcessTreeOutcome::Dead(late) => dead.push((ownership, late)),
            ProcessTreeOutcome::Alive => alive += 1,
            ProcessTreeOutcome::Incomplete => incomplete += 1,
        }
        if incomplete > trees {
            let found = format!("{incomplete} that were not");
            return Err(BenchmarkError::UnexpectedProcesses {
                expected: "trees that are complete in time".into(),
                found,
            }
            .into());
        }
    }
    let of = |ownership: Option<SandboxOwnership>| -> Option<LatencySummary> {
        let chosen = dead.iter().filter(|(its, _)| ownership.is_none_or(|ownership| *its == ownership));
        chosen.map(|(_, late)| *late).collect::<LatencySamples>().summary()
    };
    Ok(Some(TimeoutTreeFigures {
        trees,
        dead: dead.len(),
        incomplete,
        timeout_ms: TIMEOUT.as_millis(),
        late: of(None),
        late_in_own_sandbox: of(Some(SandboxOwnership::Exclusive)),
        late_in_shared_sandbox: of(Some(SandboxOwnership::Shared)),
    }))
}

async fn measure_tree(
    backend: &NativeBackend,
    launcher: u32,
    ownership: SandboxOwnership,
) -> anyhow::Result<ProcessTreeOutcome> {
    let others = processes::init_processes(launcher)?;
    let sandbox = backend.create(SandboxSpec::default()).await?;
    let init = processes::init_processes(launcher)?.into_iter().find(|child| !others.contains(child));
    let outcome = if let Some(init) = init {
        run_tree(&sandbox, init, ownership).await
    } else {
        let expected = "an init process of the sandbox".into();
        Err(BenchmarkError::UnexpectedProcesses { expected, found: "none".into() }.into())
    };
    sandbox.destroy().await?;
    outcome
}

async fn run_tree(
    sandbox: &Arc<dyn Sandbox>,
    init: u32,
    ownership: SandboxOwnership,
) -> anyhow::Result<ProcessTreeOutcome> {
    let Some(namespace) = processes::process_namespace(init)? else {
        return Ok(ProcessTreeOutcome::Incomplete);
    };
    let request = ExecRequest::new(["sh", "-c", TREE]).timeout(TIMEOUT);
    // Taken before the sandbox starts its own clock, so that the delay is not underestimated.
    let deadline = Instant::now() + TIMEOUT;
    let mut process = match ownership {
        SandboxOwnership::Exclusive => sandbox.spawn(request.exclusive()).await?,
        SandboxOwnership::Shared => sandbox.spawn(request).await?,
    };
    let is_ready = wait_for_ready(process.as_mut()).await?;
    let members = other_processes(namespace, init)?;
    if !is_ready || members.len() < FEWEST_PROCESSES {
        return Ok(ProcessTreeOutcome::Incomplete);
    }
    let handles = members.into_iter().filter_map(|pid| processes::open_handle(pid).transpose());
    let watcher = watch(handles.collect::<Result<_, _>>()?);
    wait_for_timeout(process.as_mut()).await?;
    if ownership == SandboxOwnership::Exclusive {
        sandbox.destroy().await?;
    }
    match watcher.await? {
        // Finds processes that were started after the first search.
        Some(gone) if other_processes(namespace, init)?.is_empty() => {
            Ok(ProcessTreeOutcome::Dead(gone.saturating_duration_since(deadline)))
        }
        _ => Ok(ProcessTreeOutcome::Alive),
    }
}

fn other_processes(namespace: u64, init: u32) -> Result<Vec<u32>, BenchmarkError> {
    let mut members = processes::members_of(namespace)?;
    members.retain(|pid| *pid != init);
    Ok(members)
}

/// Waits for the complete tree; false if the timeout came first.
async fn wait_for_ready(process: &mut dyn SandboxProcess) -> anyhow::Result<bool> {
    loop {
        match process.next().await? {
            ProcessEvent::Stdout(bytes) if bytes.starts_with(b"ready") => return Ok(true),
            ProcessEvent::Stdout(_) => {}
            ProcessEvent::Stderr(bytes) => {
                let ending = String::from_utf8_lossy(&bytes).trim().to_owned();
                return Err(
                    BenchmarkError::SandboxCommand { command: "a tree of processes".into(), ending }.into()
                );
            }
            ProcessEvent::Exited(outcome) if outcome.timed_out => return Ok(false),
            ProcessEvent::Exited(outcome) => return Err(ended(outcome.exit_code)),
        }
    }
}

async fn wait_for_timeout(process: &mut dyn SandboxProcess) -> anyhow::Result<()> {
    loop {
        if let ProcessEvent::Exited(outcome) = process.next().await? {
            return if outcome.timed_out { Ok(()) } else { Err(ended(outcome.exit_code)) };
        }
    }
}

fn ended(exit_code: Option<i32>) -> anyhow::Error {
    let ending = format!("exit code {exit_code:?} before its timeout");
    BenchmarkError::SandboxCommand { command: "a tree of processes".into(), ending }.into()
}

/// Waits on a separate thread for the end of all processes and returns its time; `None` if one does not end.
fn watch(handles: Vec<OwnedFd>) -> tokio::task::JoinHandle<Option<Instant>> {
    tokio::task::spawn_blocking(move || {
        for handle in &handles {
            // A process handle stays readable from the end of its process.
            match poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&LONGEST_WAIT)) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return None,
            }
        }
        Some(Instant::now())
    })
}
