//! Results of a workflow under one stress profile.

use std::collections::BTreeMap;

use menace_model::calls::OutcomeKind;
use serde::Serialize;

use crate::outcome::CallClassification;
use crate::statistics::wilson;

/// All executions of a workflow under one scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkflowCell {
    /// The name of the preset.
    pub scenario: String,
    /// Executions that count.
    pub n: usize,
    /// Number of executions of each kind.
    #[serde(flatten)]
    pub kinds: BTreeMap<&'static str, usize>,
    /// Share of executions that succeeded.
    pub robustness: Option<f64>,
    /// 95 % interval of the robustness.
    pub interval: Option<(f64, f64)>,
    /// Reason why no execution counts.
    pub void_reason: Option<String>,
    /// CPU time of all executions; `None` if it could not be measured for one of them.
    pub cpu_seconds: Option<f64>,
    /// Memory multiplied by time, of all executions; `None` if it could not be measured for one of them.
    pub gb_seconds: Option<f64>,
    /// Median duration of an execution.
    pub wall_ms: Option<f64>,
    /// Measurements of each step.
    pub steps: Vec<StepTelemetry>,
}

/// Measurements of a step, over all executions.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StepTelemetry {
    /// `module:qualname`.
    pub section: String,
    /// Number of executions of the step.
    pub calls: usize,
    /// Number of failures.
    pub crashes: usize,
    /// Share of executions that failed.
    pub crash_frequency: Option<f64>,
    /// Median duration.
    pub time_ms: Option<f64>,
    /// Peak memory of the process up to the end of the step.
    pub peak_memory_bytes: Option<u64>,
    /// Return value of the last success.
    pub result: Option<String>,
    /// Message of the first failure.
    pub failure: Option<String>,
}

/// One execution of the workflow, with the outcomes of its steps.
#[derive(Debug, Clone)]
pub(super) struct WorkflowExecution {
    pub(super) verdict: CallClassification,
    pub(super) wall_ms: f64,
    pub(super) cpu_ms: Option<f64>,
    pub(super) peak_bytes: Option<u64>,
    pub(super) steps: Vec<StepOutcome>,
}

/// Outcome of one step.
#[derive(Debug, Clone)]
pub(super) struct StepOutcome {
    pub(super) verdict: CallClassification,
    pub(super) took_ms: Option<f64>,
    pub(super) peak_bytes: Option<u64>,
}

impl WorkflowCell {
    /// Combines the executions.
    pub(super) fn of(
        scenario: &str,
        sections: &[String],
        times: &[WorkflowExecution],
        why_none: Option<String>,
    ) -> Self {
        let mut kinds: BTreeMap<&'static str, usize> = BTreeMap::new();
        for time in times {
            *kinds.entry(time.verdict.kind.name()).or_default() += 1;
        }
        let counting: Vec<&WorkflowExecution> =
            times.iter().filter(|time| time.verdict.kind.counts()).collect();
        let n = counting.len();
        let well = counting.iter().filter(|time| time.verdict.kind.is_success()).count();
        let reason = || times.iter().find_map(|time| time.verdict.reason.clone());
        Self {
            scenario: scenario.to_owned(),
            n,
            kinds,
            robustness: (n > 0).then(|| well as f64 / n as f64),
            interval: (n > 0).then(|| wilson(well, n)),
            void_reason: (n == 0)
                .then(|| why_none.or_else(reason).unwrap_or_else(|| "no call counts".into())),
            cpu_seconds: counting.iter().map(|time| time.cpu_ms).sum::<Option<f64>>().map(|ms| ms / 1e3),
            gb_seconds: counting
                .iter()
                .map(|time| Some(time.peak_bytes? as f64 / 1e9 * time.wall_ms / 1e3))
                .sum(),
            wall_ms: median(counting.iter().map(|time| time.wall_ms).collect()),
            steps: sections
                .iter()
                .enumerate()
                .map(|(index, section)| telemetry(section, index, times))
                .collect(),
        }
    }

    /// Number of successful executions.
    pub fn ended_well(&self) -> usize {
        let well = |kind: &OutcomeKind| kind.is_success();
        let names: Vec<&str> =
            OutcomeKind::ALL.iter().filter(|kind| well(kind)).map(|kind| kind.name()).collect();
        self.kinds.iter().filter(|(kind, _)| names.contains(kind)).map(|(_, count)| count).sum()
    }
}

fn telemetry(section: &str, index: usize, times: &[WorkflowExecution]) -> StepTelemetry {
    let seen: Vec<&StepOutcome> = times.iter().filter_map(|time| time.steps.get(index)).collect();
    let failed: Vec<&&StepOutcome> = seen.iter().filter(|step| step.verdict.kind.is_failure()).collect();
    StepTelemetry {
        section: section.to_owned(),
        calls: seen.len(),
        crashes: failed.len(),
        crash_frequency: (!seen.is_empty()).then(|| failed.len() as f64 / seen.len() as f64),
        time_ms: median(seen.iter().filter_map(|step| step.took_ms).collect()),
        peak_memory_bytes: seen.iter().filter_map(|step| step.peak_bytes).max(),
        result: seen.iter().rev().find_map(|step| step.verdict.value.clone()),
        failure: failed.first().map(|step| described(&step.verdict)),
    }
}

fn described(verdict: &CallClassification) -> String {
    let message = verdict.message().unwrap_or_default();
    match &verdict.facts {
        Some(facts) => format!("{}: {message}", facts.exception),
        None => message,
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
