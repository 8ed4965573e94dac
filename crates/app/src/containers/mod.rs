//! `SANDBOX_DOCKER=1 menace run`: every preset in a container of its own, in which menace itself runs. The measurements
//! of all containers become one cycle of the local history (docs/design/019).

mod container;
mod error;
mod job;
mod report;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menace_analysis::write_atomically;
use menace_tracker::history::{HistoryPart, RoiHistory, merged};
use tokio::sync::watch;

use crate::calling::now_ms;
use crate::error::FileContext;
use crate::measure::{MeasureRequest, new_id, resolve_module_paths, run_settings};
use crate::repository::{ScanPurpose, read_repository};
use crate::tracking::with_history;
use crate::{AppContext, AppError, AppEvent, RequestError};
use container::PresetContainers;
use error::ContainerError;
use job::PresetContainerJob;
pub use report::{
    ContainerFailure, ContainerRoi, ContainerRunDiagnostics, ContainerRunReport, ContainerRunSummary,
    MergedContainerCycle, PresetContainerOutcome, PresetReport,
};

/// Measures every preset of the request in its own container. An interrupted round is the last one.
pub async fn run(
    context: &AppContext,
    request: &MeasureRequest,
) -> Result<Vec<ContainerRunReport>, AppError> {
    let stop = &context.interruption();
    if request.forecast_log.is_some() {
        return Err(RequestError::NotInContainers.into());
    }
    let scan = read_repository(context, &request.scan(), ScanPurpose::Inventory)?;
    if scan.inventory.modules.is_empty() {
        return Err(RequestError::NoPython(PathBuf::from(&scan.inventory.root)).into());
    }
    let modules = resolve_module_paths(&scan.inventory, &request.modules)?;
    let mut reports = Vec::new();
    for round in 0..request.runs.unwrap_or(1).max(1) {
        let seed = request.seed.wrapping_add(round as u64);
        let settings = run_settings(context, request, &scan.inventory, &modules, (round, seed))?;
        let jobs = job::jobs(&settings, request.python.as_deref())?;
        let directory =
            context.data_directory().join("full_environment").join(format!("round-{}", round + 1));
        let containers = PresetContainers::new(context, &settings.repository, stop.clone())?;
        let root = &scan.inventory.root;
        let mut report = one_round(context, root, containers, &jobs, &directory, stop).await?;
        report.seed = seed;
        reports.push(report);
        if *stop.borrow() {
            break;
        }
    }
    Ok(reports)
}

async fn one_round(
    context: &AppContext,
    root: &str,
    mut containers: PresetContainers,
    jobs: &[PresetContainerJob],
    round_directory: &Path,
    stop: &watch::Receiver<bool>,
) -> Result<ContainerRunReport, AppError> {
    let mut presets = Vec::new();
    let mut histories: BTreeMap<usize, RoiHistory> = BTreeMap::new();
    for (number, job) in jobs.iter().enumerate() {
        if *stop.borrow() {
            break;
        }
        context.emit(AppEvent::ContainerStarted {
            number: number + 1,
            total: jobs.len(),
            preset: job.title(),
        });
        let mut report = PresetReport::of(job);
        if report.is_void() {
            presets.push(report);
            continue;
        }
        match containers.run(job, &mut report).await {
            Ok(seen) => {
                let directory = round_directory.join(format!("{:02}-{}", number + 1, job.file_name()));
                keep(&directory, &seen.files)?;
                match seen.history() {
                    Ok(history) => match report.record(seen, job) {
                        Ok(()) => histories.extend(history.map(|history| (number, history))),
                        Err(error) => {
                            report.outcome = PresetContainerOutcome::Failed { error: error.to_string() };
                        }
                    },
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
    // Presets whose limits had no effect do not count.
    histories.retain(|number, _| presets.get(*number).is_some_and(PresetReport::counts));
    let roi = merge(context, root, jobs, &histories)?;
    Ok(ContainerRunReport::new(containers.image(), presets, roi, *stop.borrow()))
}

/// Stores the files that a container wrote.
fn keep(directory: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), AppError> {
    std::fs::create_dir_all(directory).file("create", directory)?;
    for (name, content) in files {
        let path = directory.join(name);
        write_atomically(&path, content).file("write", &path)?;
    }
    Ok(())
}

/// Adds the measurements of all containers to the history of the repository.
fn merge(
    context: &AppContext,
    root: &str,
    jobs: &[PresetContainerJob],
    histories: &BTreeMap<usize, RoiHistory>,
) -> Result<Option<MergedContainerCycle>, AppError> {
    if histories.is_empty() {
        return Ok(None);
    }
    let parts: Vec<HistoryPart<'_>> = histories
        .iter()
        .filter_map(|(number, history)| {
            Some(HistoryPart { history, compared_with: jobs.get(*number)?.compared_with() })
        })
        .collect();
    with_history(&context.data_directory(), root, |history| {
        let mut cycle = merged(&parts, new_id().to_string(), now_ms());
        cycle.predicted_roi = history.forecast_next("roi", &[]).and_then(|next| next.steps.first().copied());
        let problems = history.update(cycle);
        Ok(Some(MergedContainerCycle::of(history, parts.len(), problems)))
    })
}
