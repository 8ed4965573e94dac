//! Paired calls: the same calls of the baseline and the candidate, and their differences.

use std::collections::BTreeMap;
use std::sync::Arc;

use menace_model::calls::OutcomeKind;
use menace_runner::{Call, CallExecutor, CallOutcome, CallScheduler, FaultEvidence};
use menace_sandbox::SandboxError;

use super::held_out::ReproducingCall;

/// A call with its outcomes on the baseline and the candidate.
#[derive(Debug, Clone)]
pub(crate) struct PairedCall {
    pub(crate) call: Call,
    pub(crate) before: CallOutcome,
    pub(crate) after: CallOutcome,
}

/// Number of reruns on both sides before a difference counts.
const AGAIN: usize = 2;
/// Calls of one side before the other side has its turn, so that both see the same load of the machine.
const TURN: usize = 64;

/// Length of a turn when durations are compared, so that a load spike affects both sides.
const SHORT_TURN: usize = 8;

/// Makes the same calls of both sides, interleaved.
pub(crate) async fn make_paired_calls(
    before: &Arc<dyn CallExecutor>,
    after: &Arc<dyn CallExecutor>,
    calls: &[Call],
    parallel: usize,
) -> Result<Vec<PairedCall>, SandboxError> {
    make_calls_in_turns(before, after, calls, (TURN, parallel)).await
}

/// Makes the failing calls on the candidate. Their outcomes on the baseline are known.
pub(crate) async fn rerun_on_candidate(
    after: &Arc<dyn CallExecutor>,
    shown: &[ReproducingCall],
    parallel: usize,
) -> Result<Vec<PairedCall>, SandboxError> {
    let calls: Vec<Call> = shown.iter().map(|one| one.call.clone()).collect();
    let outcomes = CallScheduler::new(after, parallel).make_calls(&calls).await?;
    let before = |one: &ReproducingCall| CallOutcome { verdict: one.seen.clone(), measures: None };
    let both = calls.into_iter().zip(shown).zip(outcomes);
    Ok(both.map(|((call, one), after)| PairedCall { call, before: before(one), after }).collect())
}

/// Makes the same calls of both sides one at a time and in short turns, to compare durations.
pub(crate) async fn make_timed_pairs(
    before: &Arc<dyn CallExecutor>,
    after: &Arc<dyn CallExecutor>,
    calls: &[Call],
) -> Result<Vec<PairedCall>, SandboxError> {
    make_calls_in_turns(before, after, calls, (SHORT_TURN, 1)).await
}

/// Makes calls of both sides in turns. The side that goes first alternates.
async fn make_calls_in_turns(
    before: &Arc<dyn CallExecutor>,
    after: &Arc<dyn CallExecutor>,
    calls: &[Call],
    (length, parallel): (usize, usize),
) -> Result<Vec<PairedCall>, SandboxError> {
    let mut pairs = Vec::with_capacity(calls.len());
    for (number, turn) in calls.chunks(length).enumerate() {
        let (first, second) = if number % 2 == 0 { (before, after) } else { (after, before) };
        let first = CallScheduler::new(first, parallel).make_calls(turn).await?;
        let second = CallScheduler::new(second, parallel).make_calls(turn).await?;
        let (before, after) = if number % 2 == 0 { (first, second) } else { (second, first) };
        let both = turn.iter().zip(before.into_iter().zip(after));
        pairs.extend(both.map(|(call, (before, after))| PairedCall { call: call.clone(), before, after }));
    }
    Ok(pairs)
}

impl PairedCall {
    fn kinds(&self) -> (OutcomeKind, OutcomeKind) {
        (self.before.verdict.kind, self.after.verdict.kind)
    }

    /// CPU time of both calls.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let measures =
            [&self.before, &self.after].into_iter().filter_map(|outcome| outcome.measures.as_ref());
        let milliseconds =
            measures.map(|one| one.cpu_user_ms.unwrap_or(0.0) + one.cpu_system_ms.unwrap_or(0.0));
        milliseconds.sum::<f64>() / 1e3
    }

    /// Whether both outcomes count. A candidate that stays below a limit which the baseline hit counts, although its
    /// fault did not fire.
    pub(crate) fn counts(&self) -> bool {
        let (before, after) = self.kinds();
        before.counts() && (after.counts() || self.needs_less())
    }

    fn needs_less(&self) -> bool {
        let is_limit = |proof: &FaultEvidence| {
            matches!(proof, FaultEvidence::Memory | FaultEvidence::Disk | FaultEvidence::Starved)
        };
        let (before, after) = self.kinds();
        before.is_failure()
            && after == OutcomeKind::Void
            && self.call.circumstances.proofs.iter().any(is_limit)
    }

    /// Success of each side, as 1 or 0.
    pub(crate) fn successes(&self) -> (f64, f64) {
        let one = |ended_well: bool| f64::from(u8::from(ended_well));
        let (before, after) = self.kinds();
        (one(before.is_success()), one(after.is_success() || self.needs_less()))
    }

    /// Whether the candidate regressed: it fails, rejects an accepted input, or cannot be called.
    pub(crate) fn is_worse(&self) -> bool {
        let (before, after) = self.kinds();
        rank(after) < rank(before)
    }

    /// Whether the candidate behaves differently where the baseline worked: it returns another value, accepts a
    /// rejected input, or raises another exception on purpose.
    pub(crate) fn behaves_differently(&self) -> bool {
        match self.kinds() {
            (OutcomeKind::Ok, OutcomeKind::Ok) => self.before.verdict.value != self.after.verdict.value,
            (OutcomeKind::Rejected, OutcomeKind::Ok) => true,
            // Exceptions that Python raises by itself are not part of the contract; those that the code raises are.
            (OutcomeKind::Rejected, OutcomeKind::Rejected) => {
                is_on_purpose(&self.before) && exception(&self.before) != exception(&self.after)
            }
            _ => false,
        }
    }
}

fn is_on_purpose(outcome: &CallOutcome) -> bool {
    outcome.verdict.facts.as_ref().is_some_and(|facts| facts.raised || facts.own_class)
}

fn exception(outcome: &CallOutcome) -> Option<&str> {
    exception_of(&outcome.verdict)
}

impl PairedCall {
    /// Whether the baseline fails with the same failure signature as in another pair: kind, exception and line.
    pub(crate) fn fails_like(&self, other: &Self) -> bool {
        let (one, other) = (&self.before.verdict, &other.before.verdict);
        one.kind == other.kind
            && exception(&self.before) == exception_of(other)
            && one.frame() == other.frame()
    }
}

fn exception_of(verdict: &menace_runner::CallClassification) -> Option<&str> {
    verdict.facts.as_ref().map(|facts| facts.exception.as_str())
}

/// Rank of an outcome, higher is better. All failures are equal; a harness error is the worst.
fn rank(kind: OutcomeKind) -> u8 {
    match kind {
        OutcomeKind::Ok => 4,
        OutcomeKind::Rejected => 3,
        // The fault did not fire: neither better nor worse.
        OutcomeKind::Void => 3,
        OutcomeKind::HarnessError => 0,
        OutcomeKind::Crash
        | OutcomeKind::Timeout
        | OutcomeKind::Oom
        | OutcomeKind::DiskFull
        | OutcomeKind::Denied
        | OutcomeKind::Wrong
        | OutcomeKind::Flaky => 1,
    }
}

/// Pairs whose bad difference repeats and does not also occur between two runs of the baseline.
pub(crate) async fn confirmed_differences(
    before: &Arc<dyn CallExecutor>,
    after: &Arc<dyn CallExecutor>,
    pairs: Vec<PairedCall>,
    parallel: usize,
    is_bad: impl Fn(&PairedCall) -> bool,
) -> Result<Vec<PairedCall>, SandboxError> {
    let mut bad: Vec<PairedCall> = pairs.into_iter().filter(|pair| is_bad(pair)).collect();
    for _ in 0..AGAIN {
        if bad.is_empty() {
            break;
        }
        let calls: Vec<Call> = bad.iter().map(|pair| pair.call.clone()).collect();
        let again = make_paired_calls(before, after, &calls, parallel).await?;
        // The baseline compared with itself: a difference there is flaky behaviour.
        let is_flaky = |old: &PairedCall, new: &PairedCall| {
            let itself =
                PairedCall { call: old.call.clone(), before: old.before.clone(), after: new.before.clone() };
            is_bad(&itself)
                || is_bad(&PairedCall {
                    before: itself.after.clone(),
                    after: itself.before.clone(),
                    ..itself
                })
        };
        bad =
            bad.into_iter().zip(again).filter(|(old, new)| !is_flaky(old, new)).map(|(old, _)| old).collect();
    }
    Ok(bad)
}

/// Share of successes before and after, and number of calls, by scenario.
pub(crate) fn by_scenario(pairs: &[PairedCall]) -> BTreeMap<String, (f64, f64, usize)> {
    let mut sums: BTreeMap<String, (f64, f64, usize)> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| pair.counts()) {
        let (before, after) = pair.successes();
        let sum = sums.entry(pair.call.circumstances.scenario.clone()).or_default();
        *sum = (sum.0 + before, sum.1 + after, sum.2 + 1);
    }
    for (before, after, n) in sums.values_mut() {
        *before /= *n as f64;
        *after /= *n as f64;
    }
    sums
}
