//! Benchmarks of native sandboxes: latencies in turn with bubblewrap and Docker, concurrent creation, memory of idle
//! sandboxes, timeouts, and throughput of Python calls. Prints one JSON document. `script/bench sandbox` builds and
//! runs this binary and judges its figures.
//!
//! The launcher of the sandboxes is the binary `menace`, so that the cloned process is the shipped one. It must be built
//! from the same source as this program.

mod arguments;
mod concurrent_creates;
mod docker_peer;
mod error;
mod external_command;
mod idle_sandboxes;
mod interruption;
mod latency;
mod native_sandbox;
mod processes;
mod rounds;
mod selection;
mod table;
mod timed_operation;
mod timeout_tree;
mod zygote_calls;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use menace_sandbox::native::{NativeBackend, NativeOptions};
use serde::Serialize;
use tracing_subscriber::filter::LevelFilter;

use arguments::{BenchmarkArguments, SandboxBenchmark};
use interruption::InterruptionSignals;
use rounds::measure_rounds;
use selection::SelectedOperations;
use table::BenchmarkTable;

/// The allocator of `menace`: memory of this process is part of the figures of idle sandboxes.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Exit code after Ctrl-C, as in `menace`.
const INTERRUPTED: u8 = 4;

fn main() -> ExitCode {
    run(&BenchmarkArguments::parse()).unwrap_or_else(|error| {
        report(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

fn run(arguments: &BenchmarkArguments) -> anyhow::Result<ExitCode> {
    arguments.check()?;
    tracing_subscriber::fmt().with_writer(io::stderr).with_max_level(LevelFilter::WARN).init();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    runtime.block_on(measure(arguments))
}

async fn measure(arguments: &BenchmarkArguments) -> anyhow::Result<ExitCode> {
    let mut interruption = InterruptionSignals::listen()?;
    let interruption = &mut interruption;
    let options = NativeOptions { executable: arguments.menace.clone(), ..NativeOptions::default() };
    let backend = Arc::new(NativeBackend::start(&options).await?);
    let runs = |default: usize| arguments.runs.map_or(default, std::num::NonZero::get);
    match arguments.only.first() {
        Some(SandboxBenchmark::ConcurrentCreates) => {
            print(Some(&concurrent_creates::measure(&backend, runs(100)).await?))
        }
        Some(SandboxBenchmark::Idle) => {
            print(idle_sandboxes::measure(&backend, runs(1000), interruption).await?.as_ref())
        }
        Some(SandboxBenchmark::TimeoutTree) => {
            print(timeout_tree::measure(&backend, runs(500), interruption).await?.as_ref())
        }
        Some(SandboxBenchmark::ZygoteThroughput) => {
            print(zygote_calls::measure_throughput(&backend, runs(60), interruption).await?.as_ref())
        }
        _ => print(measure_table(arguments, &backend, runs(30), interruption).await?.as_ref()),
    }
}

async fn measure_table(
    arguments: &BenchmarkArguments,
    backend: &Arc<NativeBackend>,
    rounds: usize,
    interruption: &mut InterruptionSignals,
) -> anyhow::Result<Option<BenchmarkTable>> {
    let mut selected = SelectedOperations::prepare(backend, arguments).await?;
    let measured = measure_rounds(&mut selected.operations, rounds, interruption).await;
    let finished = selected.finish().await;
    let samples = measured?;
    finished?;
    Ok(samples.map(|samples| BenchmarkTable::new(&selected.operations, &samples, selected.left_out, rounds)))
}

/// Prints the figures; `None` means that the benchmark was interrupted.
fn print(figures: Option<&impl Serialize>) -> anyhow::Result<ExitCode> {
    let Some(figures) = figures else { return Ok(ExitCode::from(INTERRUPTED)) };
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, figures).context("failed to write to stdout")?;
    writeln!(stdout).context("failed to write to stdout")?;
    Ok(ExitCode::SUCCESS)
}

/// Reports the start of a benchmark.
fn report_progress(title: &str, total: usize) {
    report(&format!("bench: {title}: {total}"));
}

/// Prints a line to stderr: stdout is the JSON document.
#[expect(clippy::print_stderr, reason = "a program for developers, without a log of its own")]
fn report(line: &str) {
    eprintln!("{line}");
}
