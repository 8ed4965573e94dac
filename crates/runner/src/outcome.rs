//! The outcome of one call: its classification and its measurements.

use menace_model::calls::{OutcomeKind, RawOutcome, ReportedException};
use menace_model::faults::FaultCount;
use menace_model::harness::{CallObservations, HarnessReply};
use menace_model::network::FlowRecord;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::classify::classify;

/// Classification of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallClassification {
    /// Kind of outcome.
    pub kind: OutcomeKind,
    /// Exception that the call raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<ReportedException>,
    /// Reason for the kind if there is no exception: a signal, a limit, a missing fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Return value, as Python's `repr` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl CallClassification {
    /// Creates a classification without an exception.
    pub fn new(kind: OutcomeKind, reason: impl Into<String>) -> Self {
        Self { kind, facts: None, reason: Some(reason.into()), value: None }
    }

    /// Message of the exception, or the reason.
    pub fn message(&self) -> Option<String> {
        self.facts.as_ref().map(|facts| facts.message.clone()).or_else(|| self.reason.clone())
    }

    /// Innermost frame of the traceback in the repository.
    pub fn frame(&self) -> Option<(&str, u32)> {
        self.facts.as_ref()?.frames.last().map(|(path, line, _)| (path.as_str(), *line))
    }
}

/// Measurements of a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallMeasurements {
    /// Wall-clock time from the request to the end, in milliseconds.
    pub wall_ms: f64,
    /// CPU time in user mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_user_ms: Option<f64>,
    /// CPU time in the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_system_ms: Option<f64>,
    /// Peak memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss_bytes: Option<u64>,
    /// Time during which the CPU quota throttled the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_throttled_ms: Option<f64>,
    /// Observations inside Python: files, connections, threads, tasks, lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<CallObservations>,
    /// Calls of a burst that finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<u64>,
    /// The first flows on its network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowRecord>,
    /// Injected faults of system calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultCount>,
    /// Beginning of its standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// Beginning of its standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// Maximum number of stored flows of a call.
const KEPT_FLOWS: usize = 20;
/// Maximum number of stored bytes of each stream of a call.
const KEPT_OUTPUT: usize = 2000;

impl CallMeasurements {
    /// Takes the measurements from a raw outcome.
    pub fn of(raw: &RawOutcome) -> Self {
        let reply = raw.reply.as_ref().and_then(HarnessReply::as_call);
        Self {
            wall_ms: raw.wall_ms,
            cpu_user_ms: raw.usage.cpu_user_ms,
            cpu_system_ms: raw.usage.cpu_system_ms,
            peak_rss_bytes: raw.usage.peak_rss_bytes,
            cpu_throttled_ms: raw.usage.cpu_throttled_ms,
            seen: reply.and_then(|reply| reply.seen.clone()),
            finished: reply.and_then(|reply| reply.finished),
            flows: raw.network.flows.iter().take(KEPT_FLOWS).cloned().collect(),
            faults: raw.faults.clone(),
            stdout: beginning(&raw.stdout),
            stderr: beginning(&raw.stderr),
        }
    }
}

fn beginning(text: &str) -> String {
    let end = (0..=KEPT_OUTPUT.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].to_owned()
}

/// Outcome of one call of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallOutcome {
    /// Classification.
    #[serde(flatten)]
    pub verdict: CallClassification,
    /// Measurements; `None` if the call was not made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<CallMeasurements>,
}

impl CallOutcome {
    /// Classifies a call that was made.
    pub fn of(raw: &RawOutcome, call: &Call) -> Self {
        Self { verdict: classify(raw, call), measures: Some(CallMeasurements::of(raw)) }
    }

    /// Outcome of a call that was not made.
    pub(crate) fn not_made(reason: impl Into<String>) -> Self {
        Self { verdict: CallClassification::new(OutcomeKind::Void, reason), measures: None }
    }
}
