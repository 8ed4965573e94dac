//! What `menace sandbox bench` does with its arguments.

use std::sync::Arc;

use anyhow::Context;
use menace_sandbox::native::{NativeBackend, NativeOptions};

use super::interruption::Interruption;
use super::line_up::LineUp;
use super::race::race;
use super::report::Report;
use super::{at_once, figures::print_figures, idle, timeout_tree, zygote};
use crate::arguments::{SandboxBenchArguments, SandboxBenchmark};
use crate::commands::UsageError;
use crate::exit::MenaceExit;
use crate::terminal::{print, print_json};

/// Rounds of the table when nobody says otherwise.
const ROUNDS: usize = 30;

pub(in crate::commands::sandbox) fn run(arguments: &SandboxBenchArguments) -> anyhow::Result<MenaceExit> {
    if let Some(alone) = arguments.only.iter().find(|measure| !measure.is_row())
        && arguments.only.len() > 1
    {
        return Err(UsageError::NotTogether(alone.name()).into());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    runtime.block_on(measure(arguments))
}

async fn measure(arguments: &SandboxBenchArguments) -> anyhow::Result<MenaceExit> {
    let mut interruption = Interruption::watch()?;
    let backend = Arc::new(NativeBackend::start(&NativeOptions::default()).await?);
    let runs = |usual: usize| arguments.runs.map_or(usual, std::num::NonZero::get);
    let interruption = &mut interruption;
    match arguments.only.first() {
        Some(SandboxBenchmark::CreatesAtOnce) => {
            print_figures(&at_once::measure(&backend, runs(100)).await?, arguments.json)?;
            Ok(MenaceExit::Done)
        }
        Some(SandboxBenchmark::Idle) => match idle::measure(&backend, runs(1000), interruption).await? {
            Some(figures) => print_figures(&figures, arguments.json).map(|()| MenaceExit::Done),
            None => Ok(MenaceExit::Interrupted),
        },
        Some(SandboxBenchmark::TimeoutTree) => {
            match timeout_tree::measure(&backend, runs(500), interruption).await? {
                Some(figures) => print_figures(&figures, arguments.json).map(|()| MenaceExit::Done),
                None => Ok(MenaceExit::Interrupted),
            }
        }
        Some(SandboxBenchmark::ZygoteThroughput) => {
            match zygote::throughput(&backend, runs(60), interruption).await? {
                Some(figures) => print_figures(&figures, arguments.json).map(|()| MenaceExit::Done),
                None => Ok(MenaceExit::Interrupted),
            }
        }
        _ => table(arguments, &backend, runs(ROUNDS), interruption).await,
    }
}

async fn table(
    arguments: &SandboxBenchArguments,
    backend: &Arc<NativeBackend>,
    rounds: usize,
    interruption: &mut Interruption,
) -> anyhow::Result<MenaceExit> {
    let mut line_up = LineUp::gather(backend, &arguments.only).await?;
    let measured = race(&mut line_up.contenders, rounds, interruption).await;
    let finished = line_up.finish().await;
    let Some(samples) = measured? else { return finished.map(|()| MenaceExit::Interrupted) };
    finished?;
    let report = Report::new(&line_up.contenders, &samples, line_up.left_out, rounds);
    if arguments.json {
        print_json(&report)?;
    } else {
        print(&report.table())?;
    }
    Ok(MenaceExit::Done)
}
