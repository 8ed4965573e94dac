//! Memory of idle sandboxes.

use std::sync::Arc;
use std::time::Instant;

use menace_model::sandbox::SandboxSpec;
use menace_sandbox::native::NativeBackend;
use menace_sandbox::{Backend, Sandbox};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use crate::error::BenchmarkError;
use crate::interruption::InterruptionSignals;
use crate::latency::in_milliseconds;
use crate::processes::{self, ProcessMemory};
use crate::report_progress;

/// Figures of idle sandboxes. Memory per sandbox is that of this process, the launcher and all init processes, divided
/// by the number of sandboxes.
#[derive(Debug, Serialize)]
pub(crate) struct IdleSandboxFigures {
    sandboxes: usize,
    processes: usize,
    pss_bytes_each: f64,
    rss_bytes_each: f64,
    /// Decrease of the machine's available memory, which includes kernel memory and other programs.
    available_bytes_each: f64,
    create_all_ms: f64,
    destroy_all_ms: f64,
}

/// Measures; `None` if it was interrupted.
pub(crate) async fn measure(
    backend: &Arc<NativeBackend>,
    count: usize,
    interruption: &mut InterruptionSignals,
) -> anyhow::Result<Option<IdleSandboxFigures>> {
    raise_open_file_limit()?;
    let available_before = processes::available_memory()?;
    let mut sandboxes = Vec::with_capacity(count);
    let started = Instant::now();
    let created = create(backend, count, &mut sandboxes, interruption).await;
    let create_all_ms = in_milliseconds(started.elapsed());
    let measured = match created {
        Ok(true) => measure_memory(count).map(Some),
        Ok(false) => Ok(None),
        Err(error) => Err(error),
    };
    let available_after = processes::available_memory()?;
    let started = Instant::now();
    for sandbox in &sandboxes {
        sandbox.destroy().await?;
    }
    let destroy_all_ms = in_milliseconds(started.elapsed());
    let Some((processes, memory)) = measured? else { return Ok(None) };
    let each = |bytes: u64| bytes as f64 / count as f64;
    Ok(Some(IdleSandboxFigures {
        sandboxes: count,
        processes,
        pss_bytes_each: each(memory.proportional),
        rss_bytes_each: each(memory.resident),
        available_bytes_each: (available_before as f64 - available_after as f64) / count as f64,
        create_all_ms,
        destroy_all_ms,
    }))
}

/// Creates sandboxes one after the other; false if it was interrupted.
async fn create(
    backend: &Arc<NativeBackend>,
    count: usize,
    sandboxes: &mut Vec<Arc<dyn Sandbox>>,
    interruption: &mut InterruptionSignals,
) -> anyhow::Result<bool> {
    report_progress("idle sandboxes", count);
    for _ in 0..count {
        if interruption.was_received().await {
            return Ok(false);
        }
        sandboxes.push(backend.create(SandboxSpec::default()).await?);
    }
    Ok(true)
}

fn measure_memory(count: usize) -> anyhow::Result<(usize, ProcessMemory)> {
    let launcher = processes::launcher()?;
    let init_processes = processes::init_processes(launcher)?;
    if init_processes.len() != count {
        let found = format!("{} of them", init_processes.len());
        return Err(BenchmarkError::UnexpectedProcesses {
            expected: format!("{count} init processes"),
            found,
        }
        .into());
    }
    // Includes the process that is kept ready for the next sandbox.
    let own = processes::children_of(launcher)?.into_iter().chain([launcher, std::process::id()]);
    let memories = own.map(processes::memory_of).collect::<Result<Vec<_>, _>>()?;
    Ok((memories.len(), memories.into_iter().sum()))
}

/// Raises the limit on open files: each sandbox needs two descriptors here, and the default limit is often 1,024.
fn raise_open_file_limit() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
        .map_err(std::io::Error::from)?)
}
