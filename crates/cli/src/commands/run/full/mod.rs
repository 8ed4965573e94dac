//! `SANDBOX_DOCKER=1 menace run`: each preset in a container of its own, in which menace itself runs. What the containers
//! measured is one cycle of the history here (docs/design/019).

mod container;
mod error;
mod job;
mod report;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use menace_analysis::write_atomically;
use menace_tracker::history::{HistoryPart, RoiHistory, merged};
use tokio::sync::watch;

use super::{new_id, resolve_module_paths, settings};
use crate::arguments::RunArguments;
use crate::calling::{asked_to_stop, now_ms, runtime};
use crate::commands::UsageError;
use crate::commands::reading::{ScanPurpose, read_repository};
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::note;
use crate::tracking::with_history;
use container::PresetContainers;
use error::ContainerError;
use job::PresetContainerJob;
use report::{ContainerRunReport, MergedContainerCycle, PresetContainerOutcome, PresetReport};

pub(super) fn run(configuration: &Configuration, arguments: &RunArguments) -> anyhow::Result<MenaceExit> {
    runtime()?.block_on(async {
        let reports = rounds(configuration, arguments, &asked_to_stop()).await?;
        report::show(&reports, &arguments.measure)
    })
}

async fn rounds(
    configuration: &Configuration,
    arguments: &RunArguments,
    stop: &watch::Receiver<bool>,
) -> anyhow::Result<Vec<ContainerRunReport>> {
    let measure = &arguments.measure;
    if arguments.emit_tests.is_some() || measure.forecast_log.is_some() {
        return Err(UsageError::NotInContainers.into());
    }
    let scan = read_repository(configuration, &measure.repository, ScanPurpose::Inventory)?;
    let modules = resolve_module_paths(&scan.inventory, &measure.modules)?;
    let mut reports = Vec::new();
    for round in 0..measure.runs.unwrap_or(1).max(1) {
        let seed = measure.seed.wrapping_add(round as u64);
        let settings = settings(configuration, measure, &scan.inventory, &modules, (round, seed))?;
        let jobs = job::jobs(&settings, measure)?;
        let place =
            configuration.data_directory().join("full_environment").join(format!("round-{}", round + 1));
        let containers = PresetContainers::new(configuration, &settings.repository, stop.clone())?;
        let mut report =
            one_round(configuration, &scan.inventory.root, containers, &jobs, &place, stop).await?;
        report.seed = seed;
        reports.push(report);
        if *stop.borrow() {
            break;
        }
    }
    Ok(reports)
}

async fn one_round(
    configuration: &Configuration,
    root: &str,
    mut containers: PresetContainers,
    jobs: &[PresetContainerJob],
    place: &Path,
    stop: &watch::Receiver<bool>,
) -> anyhow::Result<ContainerRunReport> {
    let mut presets = Vec::new();
    let mut histories: BTreeMap<usize, RoiHistory> = BTreeMap::new();
    for (number, job) in jobs.iter().enumerate() {
        if *stop.borrow() {
            break;
        }
        note(&format!("preset {} of {}: {}", number + 1, jobs.len(), job.title()));
        let mut report = PresetReport::of(job);
        if report.is_void() {
            presets.push(report);
            continue;
        }
        match containers.run(job, &mut report).await {
            Ok(seen) => {
                let directory = place.join(format!("{:02}-{}", number + 1, job.file_name()));
                keep(&directory, &seen.files)?;
                match seen.history() {
                    Ok(history) => {
                        histories.extend(history.map(|history| (number, history)));
                        report.is_measured(seen, job);
                    }
                    Err(error) => {
                        report.outcome = PresetContainerOutcome::Failed { error: error.to_string() }
                    }
                }
            }
            Err(ContainerError::Interrupted) => break,
            Err(error) => report.outcome = PresetContainerOutcome::Failed { error: error.with_hint() },
        }
        presets.push(report);
    }
    // What limits did nothing to is not measured under them.
    histories.retain(|number, _| presets.get(*number).is_some_and(PresetReport::counts));
    let roi = merge(configuration, root, jobs, &histories)?;
    Ok(ContainerRunReport::new(containers.image(), presets, roi, *stop.borrow()))
}

/// Keeps what a container wrote, for whoever wants to look.
fn keep(directory: &Path, files: &BTreeMap<String, Vec<u8>>) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("failed to make {}", directory.display()))?;
    for (name, content) in files {
        let path = directory.join(name);
        write_atomically(&path, content).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(())
}

/// Adds what all containers measured to the history of the repository.
fn merge(
    configuration: &Configuration,
    root: &str,
    jobs: &[PresetContainerJob],
    histories: &BTreeMap<usize, RoiHistory>,
) -> anyhow::Result<Option<MergedContainerCycle>> {
    if histories.is_empty() {
        return Ok(None);
    }
    let parts: Vec<HistoryPart<'_>> = histories
        .iter()
        .filter_map(|(number, history)| {
            Some(HistoryPart { history, compared_with: jobs.get(*number)?.compared_with() })
        })
        .collect();
    with_history(&configuration.data_directory(), root, |history| {
        let mut cycle = merged(&parts, new_id().to_string(), now_ms());
        cycle.predicted_roi = history.forecast_next("roi", &[]).and_then(|next| next.steps.first().copied());
        let problems = history.update(cycle);
        Ok(Some(MergedContainerCycle::of(history, parts.len(), problems)))
    })
}
