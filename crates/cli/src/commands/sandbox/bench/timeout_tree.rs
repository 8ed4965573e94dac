//! How late a tree of processes is dead that does everything to survive its timeout.
//!
//! One tree after the other: with several at a time the search for their processes would take the time of the very
//! processes that kill, and the figure would be of the observer.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::sandbox::{ExecRequest, SandboxSpec};
use menace_sandbox::native::NativeBackend;
use menace_sandbox::{Backend, ProcessEvent, Sandbox, SandboxProcess};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use super::census;
use super::error::BenchError;
use super::figures::Figures;
use super::interruption::Interruption;
use super::progress::RoundProgress;
use super::samples::{Samples, Summary};
use crate::terminal::{grouped, latency};

/// How long a tree may run.
const ALLOWED: Duration = Duration::from_millis(50);
/// After this a process counts as alive.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
/// Three sessions, two processes whose parents have ended, and all of them ignore what they may ignore. It says
/// `ready` when all of it is there.
const TREE: &str = "trap '' TERM HUP INT
(setsid sleep 1000 &)
setsid sh -c '(setsid sh -c \"sleep 1000 & sleep 1000\" &) ; echo ready; sleep 1000; sleep 1000' &
wait
sleep 1000";
/// Fewer would not be a tree. Counted without the first process and the leader.
const FEWEST_PROCESSES: usize = 4;

/// What is said of them.
#[derive(Debug, Serialize)]
pub(super) struct TimeoutTree {
    trees: usize,
    /// Trees of which nothing was left.
    dead: usize,
    /// Trees that were not complete when their time was over. They are not counted.
    incomplete: usize,
    timeout_ms: u128,
    /// From the end of the time until the last process was gone.
    late: Option<Summary>,
    /// As `menace sandbox run` does it: the sandbox ends with its only command.
    late_in_own_sandbox: Option<Summary>,
    /// The sandbox goes on without the command.
    late_in_shared_sandbox: Option<Summary>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    OwnSandbox,
    SharedSandbox,
}

enum Fate {
    /// So long after its time.
    Dead(Duration),
    Alive,
    Incomplete,
}

/// Measures, both settings in turn; `None` if it was interrupted.
pub(super) async fn measure(
    backend: &Arc<NativeBackend>,
    trees: usize,
    interruption: &mut Interruption,
) -> anyhow::Result<Option<TimeoutTree>> {
    let progress = RoundProgress::start("killing trees", trees);
    let launcher = census::launcher()?;
    let (mut dead, mut alive, mut incomplete) = (Vec::new(), 0, 0);
    while dead.len() + alive < trees {
        if interruption.has_happened().await {
            return Ok(None);
        }
        let is_even = (dead.len() + alive).is_multiple_of(2);
        let setting = if is_even { Setting::OwnSandbox } else { Setting::SharedSandbox };
        match one(backend, launcher, setting).await? {
            Fate::Dead(late) => dead.push((setting, late)),
            Fate::Alive => alive += 1,
            Fate::Incomplete => incomplete += 1,
        }
        if incomplete > trees {
            let found = format!("{incomplete} that were not");
            return Err(
                BenchError::Census { expected: "trees that are complete in time".into(), found }.into()
            );
        }
        progress.reached(dead.len() + alive);
    }
    let of = |setting: Option<Setting>| -> Option<Summary> {
        let chosen = dead.iter().filter(|(its, _)| setting.is_none_or(|setting| *its == setting));
        chosen.map(|(_, late)| *late).collect::<Samples>().summary()
    };
    Ok(Some(TimeoutTree {
        trees,
        dead: dead.len(),
        incomplete,
        timeout_ms: ALLOWED.as_millis(),
        late: of(None),
        late_in_own_sandbox: of(Some(Setting::OwnSandbox)),
        late_in_shared_sandbox: of(Some(Setting::SharedSandbox)),
    }))
}

async fn one(backend: &NativeBackend, launcher: u32, setting: Setting) -> anyhow::Result<Fate> {
    let others = census::first_processes(launcher)?;
    let sandbox = backend.create(SandboxSpec::default()).await?;
    let first = census::first_processes(launcher)?.into_iter().find(|child| !others.contains(child));
    let fate = if let Some(first) = first {
        run_tree(&sandbox, first, setting).await
    } else {
        let expected = "a first process of the sandbox".into();
        Err(BenchError::Census { expected, found: "none".into() }.into())
    };
    sandbox.destroy().await?;
    fate
}

async fn run_tree(sandbox: &Arc<dyn Sandbox>, first: u32, setting: Setting) -> anyhow::Result<Fate> {
    let Some(namespace) = census::process_namespace(first)? else { return Ok(Fate::Incomplete) };
    let request = ExecRequest::new(["sh", "-c", TREE]).timeout(ALLOWED);
    // Taken before the sandbox takes it, so what is measured is not less than what is.
    let deadline = Instant::now() + ALLOWED;
    let mut process = match setting {
        Setting::OwnSandbox => sandbox.spawn(request.exclusive()).await?,
        Setting::SharedSandbox => sandbox.spawn(request).await?,
    };
    let is_ready = wait_for_ready(process.as_mut()).await?;
    let members = others_in(namespace, first)?;
    if !is_ready || members.len() < FEWEST_PROCESSES {
        return Ok(Fate::Incomplete);
    }
    let handles = members.into_iter().filter_map(|pid| census::hold(pid).transpose());
    let watcher = watch(handles.collect::<Result<_, _>>()?);
    wait_for_timeout(process.as_mut()).await?;
    if setting == Setting::OwnSandbox {
        sandbox.destroy().await?;
    }
    match watcher.await? {
        // What was made after we looked is found by looking again.
        Some(gone) if others_in(namespace, first)?.is_empty() => {
            Ok(Fate::Dead(gone.saturating_duration_since(deadline)))
        }
        _ => Ok(Fate::Alive),
    }
}

fn others_in(namespace: u64, first: u32) -> Result<Vec<u32>, BenchError> {
    let mut members = census::members_of(namespace)?;
    members.retain(|pid| *pid != first);
    Ok(members)
}

/// False if its time was over before.
async fn wait_for_ready(process: &mut dyn SandboxProcess) -> anyhow::Result<bool> {
    loop {
        match process.next().await? {
            ProcessEvent::Stdout(bytes) if bytes.starts_with(b"ready") => return Ok(true),
            ProcessEvent::Stdout(_) => {}
            ProcessEvent::Stderr(bytes) => {
                let ending = String::from_utf8_lossy(&bytes).trim().to_owned();
                return Err(BenchError::Inside { command: "a tree of processes".into(), ending }.into());
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
    let ending = format!("exit code {exit_code:?} before its time was over");
    BenchError::Inside { command: "a tree of processes".into(), ending }.into()
}

/// Waits on a thread of its own until all are gone and says when that was; `None` if one does not go.
fn watch(handles: Vec<OwnedFd>) -> tokio::task::JoinHandle<Option<Instant>> {
    tokio::task::spawn_blocking(move || {
        for handle in &handles {
            // A handle becomes readable when its process has ended, and stays so.
            match poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&PATIENCE)) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return None,
            }
        }
        Some(Instant::now())
    })
}

impl Figures for TimeoutTree {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![
            ("trees, one after the other", grouped(self.trees)),
            ("dead", grouped(self.dead)),
            ("not complete in time, repeated", grouped(self.incomplete)),
        ];
        let summaries = [
            ("late", &self.late),
            ("late, sandbox ends with it", &self.late_in_own_sandbox),
            ("late, sandbox goes on", &self.late_in_shared_sandbox),
        ];
        for (name, summary) in summaries {
            if let Some(late) = summary {
                let (p50, p99, most) = (latency(late.p50_ms), latency(late.p99_ms), latency(late.max_ms));
                lines.push((name, format!("p50 {p50}, p99 {p99}, most {most}")));
            }
        }
        lines
    }
}
