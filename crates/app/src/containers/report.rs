//! Reports of runs in containers.

use std::collections::BTreeMap;

use menace_tracker::history::RoiHistory;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::container::{ContainerMeasurement, cores};
use super::error::ContainerError;
use super::job::PresetContainerJob;

/// Report of one round: every preset in its container, and the merged cycle.
#[derive(Debug, Serialize)]
pub struct ContainerRunReport {
    version: u32,
    mode: &'static str,
    /// Image of the containers.
    pub image: String,
    /// Seed of the round.
    pub seed: u64,
    /// The presets, in order.
    pub presets: Vec<PresetReport>,
    /// The merged cycle; `None` if nothing was measured.
    pub roi: Option<MergedContainerCycle>,
    /// Errors that the repository did not cause.
    pub diagnostics: ContainerRunDiagnostics,
    /// Whether the user interrupted the round.
    pub is_interrupted: bool,
}

/// Errors of a round that the repository did not cause.
#[derive(Debug, Default, Serialize)]
pub struct ContainerRunDiagnostics {
    /// The last error of the engine or of a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docker_error: Option<String>,
}

/// Report of one preset.
#[derive(Debug, Serialize)]
pub struct PresetReport {
    /// Name of the preset.
    pub preset: String,
    /// Number of attempts.
    pub attempts: u32,
    /// Duration of all attempts.
    pub seconds: f64,
    /// CPU limit of the container.
    cpus: Option<f64>,
    /// Memory limit of the container.
    memory_bytes: Option<u64>,
    /// Scenario that the preset is compared with; its failures belong to another preset.
    compared_with: Option<String>,
    /// Outcome of the preset.
    #[serde(flatten)]
    pub outcome: PresetContainerOutcome,
}

/// Outcome of a preset.
#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum PresetContainerOutcome {
    /// The preset was measured.
    Measured {
        /// Time that processes waited for CPU, if it was limited.
        throttled_ms: Option<f64>,
        /// Peak memory of the container.
        peak_bytes: Option<u64>,
        /// Report that menace printed in the container.
        report: Value,
        /// Parts of that report that are used here.
        #[serde(skip)]
        summary: ContainerRunSummary,
    },
    /// The measurement is void: it says nothing about the preset.
    Void {
        /// The reason.
        reason: String,
    },
    /// The container or its preparation failed.
    Failed {
        /// The error.
        error: String,
    },
}

/// Parts of a report that menace printed in a container.
#[derive(Debug, Default, Deserialize)]
pub struct ContainerRunSummary {
    /// Number of calls.
    pub calls: usize,
    /// Distinct failures.
    #[serde(default)]
    pub failures: Vec<ContainerFailure>,
    /// The ROI, if it was measured.
    #[serde(default)]
    pub roi: Option<ContainerRoi>,
}

/// ROI of a run in a container.
#[derive(Debug, Deserialize)]
pub struct ContainerRoi {
    /// Level of the ROI.
    pub roi: Option<f64>,
}

/// A failure that was found in a container.
#[derive(Debug, Deserialize)]
pub struct ContainerFailure {
    /// Kind of the outcome.
    pub kind: String,
    /// The section.
    pub section: String,
    /// The scenario.
    pub scenario: String,
    /// Class of the exception.
    #[serde(default)]
    pub exception: Option<String>,
    /// Message of the exception, or description.
    pub message: String,
    /// Path of the innermost line of the repository.
    pub path: String,
    /// The line.
    pub line: u32,
}

/// The merged cycle.
#[derive(Debug, Serialize)]
pub struct MergedContainerCycle {
    /// Number of the cycle.
    pub cycle: usize,
    /// Number of containers whose measurements it contains.
    pub containers: usize,
    /// ROI level.
    pub roi: Option<f64>,
    /// Difference to the previous cycle.
    pub delta: Option<f64>,
    scenarios: BTreeMap<String, f64>,
    problems: Vec<String>,
}

impl MergedContainerCycle {
    /// The last cycle of a history.
    pub(super) fn of(history: &RoiHistory, containers: usize, problems: Vec<String>) -> Self {
        let last = |levels: &[f64]| levels.last().copied();
        let scenarios = history.scenarios.iter();
        Self {
            cycle: history.cycles.len(),
            containers,
            roi: last(&history.roi_levels),
            delta: last(&history.roi_history).filter(|_| history.roi_levels.len() > 1),
            scenarios: scenarios.filter_map(|(name, one)| Some((name.clone(), last(&one.levels)?))).collect(),
            problems,
        }
    }
}

impl PresetReport {
    pub(super) fn of(job: &PresetContainerJob) -> Self {
        Self {
            preset: job.title(),
            attempts: 0,
            seconds: 0.0,
            cpus: job.cpus,
            memory_bytes: job.memory,
            compared_with: job.compared_with().map(str::to_owned),
            outcome: PresetContainerOutcome::Void { reason: job.void_reason().unwrap_or_default() },
        }
    }

    /// Whether the preset cannot be measured in a container.
    pub(super) fn is_void(&self) -> bool {
        matches!(&self.outcome, PresetContainerOutcome::Void { reason } if !reason.is_empty())
    }

    /// Records the measurement of a container. It is void if the limits of the container had no effect.
    pub(super) fn record(
        &mut self,
        seen: ContainerMeasurement,
        job: &PresetContainerJob,
    ) -> Result<(), ContainerError> {
        let summary = ContainerRunSummary::deserialize(&seen.report).map_err(ContainerError::Report)?;
        let usage = &seen.outcome.usage;
        // If the number of CPUs is unknown, every CPU limit must have had an effect.
        let limits = |cpus: f64| cores().is_none_or(|cores| cpus < cores);
        let is_throttled = usage.cpu_throttled_ms.is_some_and(|time| time > 0.0);
        let is_tight =
            |memory| seen.outcome.oom || usage.peak_rss_bytes.is_some_and(|peak| peak > memory / 2);
        self.outcome = if job.cpus.is_some_and(limits) && !is_throttled {
            PresetContainerOutcome::Void { reason: "the CPU limit of the container had no effect".into() }
        } else if job.memory.is_some_and(|memory| !is_tight(memory)) {
            PresetContainerOutcome::Void { reason: "less than half of the container memory was used".into() }
        } else {
            PresetContainerOutcome::Measured {
                throttled_ms: usage.cpu_throttled_ms,
                peak_bytes: usage.peak_rss_bytes,
                report: seen.report,
                summary,
            }
        };
        Ok(())
    }

    /// Whether the preset was measured.
    pub fn counts(&self) -> bool {
        matches!(self.outcome, PresetContainerOutcome::Measured { .. })
    }

    fn error(&self) -> Option<&String> {
        if let PresetContainerOutcome::Failed { error } = &self.outcome { Some(error) } else { None }
    }

    /// The measurement.
    pub fn summary(&self) -> Option<&ContainerRunSummary> {
        if let PresetContainerOutcome::Measured { summary, .. } = &self.outcome {
            Some(summary)
        } else {
            None
        }
    }

    /// Failures under this preset itself.
    pub fn failures(&self) -> Vec<&ContainerFailure> {
        let is_own =
            |failure: &&ContainerFailure| Some(failure.scenario.as_str()) != self.compared_with.as_deref();
        self.summary().into_iter().flat_map(|summary| &summary.failures).filter(is_own).collect()
    }
}

impl ContainerRunReport {
    pub(super) fn new(
        image: &str,
        presets: Vec<PresetReport>,
        roi: Option<MergedContainerCycle>,
        is_interrupted: bool,
    ) -> Self {
        let docker_error = presets.iter().filter_map(PresetReport::error).next_back().cloned();
        Self {
            version: 1,
            mode: "full_environment",
            image: image.to_owned(),
            seed: 0,
            presets,
            roi,
            diagnostics: ContainerRunDiagnostics { docker_error },
            is_interrupted,
        }
    }
}
