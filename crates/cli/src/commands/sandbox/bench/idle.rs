//! Many sandboxes in which nothing happens: what each of them takes.

use std::sync::Arc;
use std::time::Instant;

use menace_model::sandbox::SandboxSpec;
use menace_sandbox::native::NativeBackend;
use menace_sandbox::{Backend, Sandbox};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use super::census::{self, Memory};
use super::error::BenchError;
use super::figures::Figures;
use super::interruption::Interruption;
use super::progress::RoundProgress;
use super::samples::in_milliseconds;
use crate::terminal::{grouped, latency};

/// What is said of them. Each figure of one sandbox is that of all our processes (this one, the launcher, the first
/// processes) divided by the number of sandboxes.
#[derive(Debug, Serialize)]
pub(super) struct Idle {
    sandboxes: usize,
    processes: usize,
    pss_bytes_each: f64,
    rss_bytes_each: f64,
    /// How much less the machine could give, kernel memory included. Whatever else runs is in it too.
    available_bytes_each: f64,
    create_all_ms: f64,
    destroy_all_ms: f64,
}

/// Measures; `None` if it was interrupted.
pub(super) async fn measure(
    backend: &Arc<NativeBackend>,
    count: usize,
    interruption: &mut Interruption,
) -> anyhow::Result<Option<Idle>> {
    allow_open_files()?;
    let available_before = census::available_memory()?;
    let mut sandboxes = Vec::with_capacity(count);
    let started = Instant::now();
    let created = create(backend, count, &mut sandboxes, interruption).await;
    let create_all_ms = in_milliseconds(started.elapsed());
    let weighed = match created {
        Ok(true) => weigh(count).map(Some),
        Ok(false) => Ok(None),
        Err(error) => Err(error),
    };
    let available_after = census::available_memory()?;
    let started = Instant::now();
    for sandbox in &sandboxes {
        sandbox.destroy().await?;
    }
    let destroy_all_ms = in_milliseconds(started.elapsed());
    let Some((processes, memory)) = weighed? else { return Ok(None) };
    let each = |bytes: u64| bytes as f64 / count as f64;
    Ok(Some(Idle {
        sandboxes: count,
        processes,
        pss_bytes_each: each(memory.proportional),
        rss_bytes_each: each(memory.resident),
        available_bytes_each: (available_before as f64 - available_after as f64) / count as f64,
        create_all_ms,
        destroy_all_ms,
    }))
}

/// Makes them one after the other; false if it was interrupted.
async fn create(
    backend: &Arc<NativeBackend>,
    count: usize,
    sandboxes: &mut Vec<Arc<dyn Sandbox>>,
    interruption: &mut Interruption,
) -> anyhow::Result<bool> {
    let progress = RoundProgress::start("making idle sandboxes", count);
    for number in 1..=count {
        if interruption.has_happened().await {
            return Ok(false);
        }
        sandboxes.push(backend.create(SandboxSpec::default()).await?);
        progress.reached(number);
    }
    Ok(true)
}

fn weigh(count: usize) -> anyhow::Result<(usize, Memory)> {
    let launcher = census::launcher()?;
    let first_processes = census::first_processes(launcher)?;
    if first_processes.len() != count {
        let found = format!("{} of them", first_processes.len());
        return Err(BenchError::Census { expected: format!("{count} first processes"), found }.into());
    }
    // With the one that waits to become the next.
    let ours = census::children_of(launcher)?.into_iter().chain([launcher, std::process::id()]);
    let memories = ours.map(census::memory_of).collect::<Result<Vec<_>, _>>()?;
    Ok((memories.len(), memories.into_iter().sum()))
}

/// Each sandbox is a channel and a handle to us, and many systems begin with 1,024 open files.
fn allow_open_files() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
        .map_err(std::io::Error::from)?)
}

impl Figures for Idle {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let kibibytes = |bytes: f64| format!("{:.0} KiB", bytes / 1024.0);
        vec![
            ("idle sandboxes", grouped(self.sandboxes)),
            ("our processes", grouped(self.processes)),
            ("memory of ours for each (PSS)", kibibytes(self.pss_bytes_each)),
            ("resident for each (RSS, shared pages counted again)", kibibytes(self.rss_bytes_each)),
            ("less available on the machine for each", kibibytes(self.available_bytes_each)),
            ("making all", latency(self.create_all_ms)),
            ("destroying all", latency(self.destroy_all_ms)),
        ]
    }
}
