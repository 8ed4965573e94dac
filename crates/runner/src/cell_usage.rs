//! Resources that the calls of a cell consumed, and the kinds of input that they received.

use std::collections::BTreeMap;

use menace_model::calls::{OutcomeKind, Recipe};

use crate::outcome::CallOutcome;
use crate::plan::PlannedCall;
use crate::statistics::median;
use crate::stubs::{InputStrategy, Stub};

/// Resource usage of the calls of a cell. Calls that do not count are left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CellUsage {
    /// CPU time of all calls; `None` if it could not be measured for one of them.
    pub cpu_seconds: Option<f64>,
    /// Memory multiplied by time, of all calls; `None` if it could not be measured for one of them.
    pub gb_seconds: Option<f64>,
    /// Median CPU time of calls that returned.
    pub cpu_ms_of_ok: Option<f64>,
    /// Longest duration of a call that ended before its timeout.
    pub slowest_ended_ms: Option<f64>,
    /// Successful calls per second during bursts.
    pub throughput: Option<f64>,
    /// Kinds of input that were passed.
    pub shapes_offered: usize,
    /// Kinds of input of which a call succeeded.
    pub shapes_handled: usize,
    /// Whether the calls belong to the baseline.
    pub is_ordinary: bool,
    /// Input strategy.
    pub strategy: Option<InputStrategy>,
}

impl CellUsage {
    /// Sums up the calls of a cell that count.
    pub(crate) fn of<'call>(calls: impl Iterator<Item = (&'call PlannedCall, &'call CallOutcome)>) -> Self {
        let mut usage = Self { cpu_seconds: Some(0.0), gb_seconds: Some(0.0), ..Self::default() };
        let mut shapes: BTreeMap<String, bool> = BTreeMap::new();
        let mut of_ok = Vec::new();
        let (mut finished, mut seconds) = (0, 0.0);
        for (call, outcome) in calls.filter(|(_, outcome)| outcome.verdict.kind.counts()) {
            let Some(measures) = &outcome.measures else { continue };
            let cpu_ms = measures.cpu_user_ms.zip(measures.cpu_system_ms).map(|(user, system)| user + system);
            let wall = measures.wall_ms / 1e3;
            let gigabytes = measures.peak_rss_bytes.map(|bytes| bytes as f64 / 1e9);
            usage.cpu_seconds = usage.cpu_seconds.zip(cpu_ms).map(|(sum, cpu)| sum + cpu / 1e3);
            usage.gb_seconds = usage.gb_seconds.zip(gigabytes).map(|(sum, gigabytes)| sum + gigabytes * wall);
            if outcome.verdict.kind != OutcomeKind::Timeout {
                usage.slowest_ended_ms = Some(usage.slowest_ended_ms.unwrap_or(0.0).max(measures.wall_ms));
            }
            if outcome.verdict.kind == OutcomeKind::Ok {
                of_ok.extend(cpu_ms);
            }
            if let Some(count) = measures.finished {
                finished += if outcome.verdict.kind.is_success() { count } else { 0 };
                seconds += wall;
            }
            *shapes.entry(shape(&call.stub)).or_default() |= outcome.verdict.kind.is_success();
        }
        usage.cpu_ms_of_ok = median(of_ok);
        usage.throughput = (seconds > 0.0).then(|| finished as f64 / seconds);
        usage.shapes_offered = shapes.len();
        usage.shapes_handled = shapes.values().filter(|is_handled| **is_handled).count();
        usage
    }
}

/// Kinds of the arguments, without their values.
fn shape(stub: &Stub) -> String {
    let by_position = stub.arguments.iter().map(|recipe| kind(recipe).to_owned());
    let by_name = stub.keywords.iter().map(|(name, recipe)| format!("{name}={}", kind(recipe)));
    by_position.chain(by_name).collect::<Vec<_>>().join(",")
}

fn kind(recipe: &Recipe) -> &'static str {
    match recipe {
        Recipe::None => "none",
        Recipe::Bool(_) => "bool",
        Recipe::Int(0) => "zero",
        Recipe::Int(number) if *number < 0 => "negative int",
        Recipe::Int(_) => "int",
        Recipe::Float(number) if !number.is_finite() => "no number",
        Recipe::Float(_) => "float",
        Recipe::Text(text) if text.is_empty() => "empty text",
        Recipe::Text(text) if text.is_ascii() => "text",
        Recipe::Text(_) | Recipe::Escaped(_) => "text beyond ASCII",
        Recipe::Bytes(_) => "bytes",
        Recipe::Many(_, values) if values.is_empty() => "empty container",
        Recipe::Many(..) | Recipe::Range(..) => "container",
        Recipe::Dict(_, fields) if fields.is_empty() => "empty mapping",
        Recipe::Dict(..) => "mapping",
        Recipe::Repeated(..) | Recipe::Nested(..) => "huge",
        Recipe::Function(_) | Recipe::AsyncFunction(_) | Recipe::Awaitable(_) => "function",
        Recipe::Class(_) => "class",
        _ => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_kinds_and_not_values() {
        let of = |arguments: Vec<Recipe>| shape(&Stub { arguments, ..Stub::default() });
        let text = |text: &str| Recipe::Text(text.into());
        assert_eq!(of(vec![text("a"), Recipe::Int(1)]), of(vec![text("b"), Recipe::Int(2)]));
        assert_ne!(of(vec![text("a")]), of(vec![text("")]));
        assert_ne!(of(vec![Recipe::Int(1)]), of(vec![Recipe::Int(-1)]));
    }
}
