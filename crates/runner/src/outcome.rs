//! What came of one call of a plan.

use menace_model::calls::{Facts, OutcomeKind};
use menace_model::faults::FaultCount;
use menace_model::network::Flow;
use menace_sandbox::native::RawOutcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Its name.
    pub kind: OutcomeKind,
    /// The exception, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
    /// Why it is not an exception: a signal, a limit, a reason of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it returned, as Python shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl Verdict {
    /// One without an exception.
    pub fn new(kind: OutcomeKind, reason: impl Into<String>) -> Self {
        Self { kind, facts: None, reason: Some(reason.into()), value: None }
    }

    /// The text of the exception, or the reason.
    pub fn message(&self) -> Option<String> {
        self.facts.as_ref().map(|facts| facts.message.clone()).or_else(|| self.reason.clone())
    }

    /// The innermost frame of the repository.
    pub fn frame(&self) -> Option<(&str, u32)> {
        self.facts.as_ref()?.frames.last().map(|(path, line, _)| (path.as_str(), *line))
    }
}

/// What a call took and did beside its result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// From the request to the end.
    pub wall_ms: f64,
    /// CPU time in user mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_user_ms: Option<f64>,
    /// CPU time in the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_system_ms: Option<f64>,
    /// Most memory at one time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss_bytes: Option<u64>,
    /// How long a CPU quota held it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_throttled_ms: Option<f64>,
    /// What the harness counted: files, connections, threads, tasks, lines.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub seen: Value,
    /// Calls of a burst that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<u64>,
    /// What was seen on its network: the first flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
    /// System calls that went wrong on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultCount>,
    /// The beginning of what it printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// The beginning of what it said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// Flows that are kept of a call.
const KEPT_FLOWS: usize = 20;
/// Bytes of each stream that are kept of a call.
const KEPT_OUTPUT: usize = 2000;

impl Measures {
    /// What was measured of a call.
    pub fn of(raw: &RawOutcome) -> Self {
        Self {
            wall_ms: raw.wall_ms,
            cpu_user_ms: raw.usage.cpu_user_ms,
            cpu_system_ms: raw.usage.cpu_system_ms,
            peak_rss_bytes: raw.usage.peak_rss_bytes,
            cpu_throttled_ms: raw.usage.cpu_throttled_ms,
            seen: raw.returned.as_ref().map_or(Value::Null, |answer| answer["seen"].clone()),
            finished: raw.returned.as_ref().and_then(|answer| answer["finished"].as_u64()),
            flows: raw.network.flows.iter().take(KEPT_FLOWS).cloned().collect(),
            faults: raw.faults.clone(),
            stdout: beginning(&raw.stdout),
            stderr: beginning(&raw.stderr),
        }
    }
}

impl Measures {
    /// How often the harness saw something of a kind; nothing if it did not say what it saw.
    pub(crate) fn saw(&self, kind: &str) -> Option<u64> {
        self.seen.as_object().map(|seen| seen.get(kind).and_then(Value::as_u64).unwrap_or(0))
    }
}

fn beginning(text: &str) -> String {
    let end = (0..=KEPT_OUTPUT.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text[..end].to_owned()
}

/// What came of one call of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallOutcome {
    /// What came of it.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What it took; nothing if it was not made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<Measures>,
}
