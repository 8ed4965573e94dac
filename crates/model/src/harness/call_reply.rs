//! Reply to a call, to the examples of a docstring, and to a step of a workflow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::calls::ReportedException;

/// Reply to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WireCallReply", into = "WireCallReply")]
pub struct CallReply {
    /// How the call ended.
    pub result: CallResult,
    /// Duration of the call alone, in milliseconds.
    pub took_ms: Option<f64>,
    /// Observations beside the result; `None` if the call was not made or has failed.
    pub seen: Option<CallObservations>,
    /// A competing process had to wait for a CPU; `None` if there was no competing load.
    pub starved: Option<bool>,
    /// Highest number of calls of a burst that overlapped.
    pub overlapping: Option<u64>,
    /// Number of calls of a burst that finished.
    pub finished: Option<u64>,
    /// Peak memory of the process up to the end of a workflow step.
    pub peak_bytes: Option<u64>,
}

/// End of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallResult {
    /// It returned, or its module was imported, or its examples are right.
    Returned(ReturnedValue),
    /// An example of the docstring has another result: the first one.
    ExampleDiffers(String),
    /// It raised an exception.
    Raised {
        /// The exception.
        error: Box<ReportedException>,
        /// It had changed its arguments before.
        changed: bool,
    },
    /// The import of its module raised an exception.
    ImportFailed(Box<ReportedException>),
    /// The module has no such section.
    NotFound(String),
    /// An argument cannot be built.
    NotBuilt(String),
}

/// A value that a call returned.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReturnedValue {
    /// The value, as Python's `repr` shows it.
    pub text: Option<String>,
    /// Name of its type.
    pub type_name: Option<String>,
    /// The value itself, if JSON can hold it unchanged.
    pub json: Option<Value>,
}

/// Observations of a call inside Python. A count is left out if it is zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallObservations {
    /// Files that were opened for writing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files: u64,
    /// Connections and name lookups that were attempted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connections: u64,
    /// Threads that were started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub threads: u64,
    /// Tasks that were started on an event loop.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tasks: u64,
    /// Processes that were started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub processes: u64,
    /// Paths of the first files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    /// Addresses of the first connections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Repetitions of a call across a window of faults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<RepeatedCall>,
    /// Reached lines by path; `None` if they were not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<BTreeMap<String, Vec<u32>>>,
}

/// One repetition of a call, on the wire `[began_ms, ended_ms, succeeded]`. Times are relative to the first
/// connection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "(f64, f64, bool)", into = "(f64, f64, bool)")]
pub struct RepeatedCall {
    /// Begin in milliseconds.
    pub began_ms: f64,
    /// End in milliseconds.
    pub ended_ms: f64,
    /// It returned.
    pub succeeded: bool,
}

impl CallReply {
    /// Reply with only a result.
    pub fn of(result: CallResult) -> Self {
        Self {
            result,
            took_ms: None,
            seen: None,
            starved: None,
            overlapping: None,
            finished: None,
            peak_bytes: None,
        }
    }

    /// The exception of the call or of the import of its module.
    pub fn exception(&self) -> Option<&ReportedException> {
        match &self.result {
            CallResult::Raised { error, .. } | CallResult::ImportFailed(error) => Some(error),
            CallResult::Returned(_)
            | CallResult::ExampleDiffers(_)
            | CallResult::NotFound(_)
            | CallResult::NotBuilt(_) => None,
        }
    }

    /// The value that the call returned.
    pub fn returned(&self) -> Option<&ReturnedValue> {
        match &self.result {
            CallResult::Returned(value) => Some(value),
            _ => None,
        }
    }
}

/// The reply as one JSON object, in which the result and the measurements are neighbours.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCallReply {
    stage: CallStage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    type_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Box<ReportedException>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    took_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<CallObservations>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    starved: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    overlapping: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finished: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    peak_bytes: Option<u64>,
}

/// Stage that a call reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CallStage {
    Import,
    Lookup,
    Build,
    Call,
    Done,
}

impl TryFrom<WireCallReply> for CallReply {
    type Error = &'static str;

    fn try_from(wire: WireCallReply) -> Result<Self, Self::Error> {
        let result = match (wire.stage, wire.error, wire.why) {
            (CallStage::Done, None, None) => CallResult::Returned(ReturnedValue {
                text: wire.value,
                type_name: wire.type_name,
                json: wire.json,
            }),
            (CallStage::Done, None, Some(why)) => CallResult::ExampleDiffers(why),
            (CallStage::Call, Some(error), None) => {
                CallResult::Raised { error, changed: wire.changed.unwrap_or(false) }
            }
            (CallStage::Import, Some(error), None) => CallResult::ImportFailed(error),
            (CallStage::Lookup, None, Some(why)) => CallResult::NotFound(why),
            (CallStage::Build, None, Some(why)) => CallResult::NotBuilt(why),
            // Looking for a section and building an argument run code of the repository, which may raise anything.
            (CallStage::Lookup, Some(error), None) => CallResult::NotFound(in_one_line(&error)),
            (CallStage::Build, Some(error), None) => CallResult::NotBuilt(in_one_line(&error)),
            (CallStage::Done, Some(_), _) => return Err("stage `done` with an exception"),
            (CallStage::Call | CallStage::Import, ..) => {
                return Err("stage `call` or `import` needs an exception and no reason");
            }
            (CallStage::Lookup | CallStage::Build, ..) => {
                return Err("stage `lookup` or `build` needs either a reason or an exception");
            }
        };
        Ok(Self {
            result,
            took_ms: wire.took_ms,
            seen: wire.seen,
            starved: wire.starved,
            overlapping: wire.overlapping,
            finished: wire.finished,
            peak_bytes: wire.peak_bytes,
        })
    }
}

fn in_one_line(error: &ReportedException) -> String {
    format!("{}: {}", error.exception, error.message)
}

impl From<CallReply> for WireCallReply {
    fn from(reply: CallReply) -> Self {
        let mut wire = Self {
            stage: CallStage::Done,
            value: None,
            type_name: None,
            json: None,
            why: None,
            error: None,
            changed: None,
            took_ms: reply.took_ms,
            seen: reply.seen,
            starved: reply.starved,
            overlapping: reply.overlapping,
            finished: reply.finished,
            peak_bytes: reply.peak_bytes,
        };
        match reply.result {
            CallResult::Returned(value) => {
                (wire.value, wire.type_name, wire.json) = (value.text, value.type_name, value.json);
            }
            CallResult::ExampleDiffers(why) => wire.why = Some(why),
            CallResult::Raised { error, changed } => {
                wire.stage = CallStage::Call;
                wire.error = Some(error);
                wire.changed = changed.then_some(true);
            }
            CallResult::ImportFailed(error) => {
                wire.stage = CallStage::Import;
                wire.error = Some(error);
            }
            CallResult::NotFound(why) => {
                wire.stage = CallStage::Lookup;
                wire.why = Some(why);
            }
            CallResult::NotBuilt(why) => {
                wire.stage = CallStage::Build;
                wire.why = Some(why);
            }
        }
        wire
    }
}

impl From<(f64, f64, bool)> for RepeatedCall {
    fn from((began_ms, ended_ms, succeeded): (f64, f64, bool)) -> Self {
        Self { began_ms, ended_ms, succeeded }
    }
}

impl From<RepeatedCall> for (f64, f64, bool) {
    fn from(call: RepeatedCall) -> Self {
        (call.began_ms, call.ended_ms, call.succeeded)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "signature required by serde")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
