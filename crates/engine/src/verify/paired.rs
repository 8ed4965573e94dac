//! The same calls of two versions of code, and how they differ.

use std::collections::BTreeMap;
use std::sync::Arc;

use menace_model::calls::OutcomeKind;
use menace_runner::{Call, CallOutcome, Execute, Proof, make_calls};
use menace_sandbox::SandboxError;

use super::held_out::Shown;

/// A call of both versions.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    pub(crate) call: Call,
    pub(crate) before: CallOutcome,
    pub(crate) after: CallOutcome,
}

/// How often a call that differs is made again on both sides, before it is believed.
const AGAIN: usize = 2;
/// Calls of each side that are made before the other side has its turn, so that both meet the same machine.
const TURN: usize = 64;

/// The same where times are compared: a machine that is busy for a while is so for both.
const SHORT_TURN: usize = 8;

/// Makes the same calls of both, in turns.
pub(crate) async fn paired(
    before: &Arc<dyn Execute>,
    after: &Arc<dyn Execute>,
    calls: &[Call],
    parallel: usize,
) -> Result<Vec<Pair>, SandboxError> {
    in_turns(before, after, calls, (TURN, parallel)).await
}

/// Calls that showed something, of the new code. What came of them before is known.
pub(crate) async fn shown_again(
    after: &Arc<dyn Execute>,
    shown: &[Shown],
    parallel: usize,
) -> Result<Vec<Pair>, SandboxError> {
    let calls: Vec<Call> = shown.iter().map(|one| one.call.clone()).collect();
    let outcomes = make_calls(after, &calls, parallel).await?;
    let before = |one: &Shown| CallOutcome { verdict: one.seen.clone(), measures: None };
    let both = calls.into_iter().zip(shown).zip(outcomes);
    Ok(both.map(|((call, one), after)| Pair { call, before: before(one), after }).collect())
}

/// The same, nobody beside a call and in short turns, for what is said about times.
pub(crate) async fn timed(
    before: &Arc<dyn Execute>,
    after: &Arc<dyn Execute>,
    calls: &[Call],
) -> Result<Vec<Pair>, SandboxError> {
    in_turns(before, after, calls, (SHORT_TURN, 1)).await
}

/// Who begins a turn waits at the beginning of the next, so that neither side is always the first.
async fn in_turns(
    before: &Arc<dyn Execute>,
    after: &Arc<dyn Execute>,
    calls: &[Call],
    (length, parallel): (usize, usize),
) -> Result<Vec<Pair>, SandboxError> {
    let mut pairs = Vec::with_capacity(calls.len());
    for (number, turn) in calls.chunks(length).enumerate() {
        let (first, second) = if number % 2 == 0 { (before, after) } else { (after, before) };
        let first = make_calls(first, turn, parallel).await?;
        let second = make_calls(second, turn, parallel).await?;
        let (before, after) = if number % 2 == 0 { (first, second) } else { (second, first) };
        let both = turn.iter().zip(before.into_iter().zip(after));
        pairs.extend(both.map(|(call, (before, after))| Pair { call: call.clone(), before, after }));
    }
    Ok(pairs)
}

impl Pair {
    fn kinds(&self) -> (OutcomeKind, OutcomeKind) {
        (self.before.verdict.kind, self.after.verdict.kind)
    }

    /// CPU time of both.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let measures =
            [&self.before, &self.after].into_iter().filter_map(|outcome| outcome.measures.as_ref());
        let milliseconds =
            measures.map(|one| one.cpu_user_ms.unwrap_or(0.0) + one.cpu_system_ms.unwrap_or(0.0));
        milliseconds.sum::<f64>() / 1e3
    }

    /// Whether both count. Code that needs less than a limit that it used to hit is not excused from counting by that.
    pub(crate) fn counts(&self) -> bool {
        let (before, after) = self.kinds();
        before.counts() && (after.counts() || self.needs_less())
    }

    fn needs_less(&self) -> bool {
        let is_limit = |proof: &Proof| matches!(proof, Proof::Memory | Proof::Disk | Proof::Starved);
        let (before, after) = self.kinds();
        before.is_failure()
            && after == OutcomeKind::Void
            && self.call.circumstances.proofs.iter().any(is_limit)
    }

    /// 1 for each side that ended well.
    pub(crate) fn successes(&self) -> (f64, f64) {
        let one = |ended_well: bool| f64::from(u8::from(ended_well));
        let (before, after) = self.kinds();
        (one(before.is_success()), one(after.is_success() || self.needs_less()))
    }

    /// Whether what was fine is not any more: it failed, or refuses what it took, or cannot even be called.
    pub(crate) fn is_worse(&self) -> bool {
        let (before, after) = self.kinds();
        rank(after) < rank(before)
    }

    /// Whether it does something else where it worked before: returns another value, or takes what it refused.
    pub(crate) fn behaves_differently(&self) -> bool {
        match self.kinds() {
            (OutcomeKind::Ok, OutcomeKind::Ok) => self.before.verdict.value != self.after.verdict.value,
            (OutcomeKind::Rejected, OutcomeKind::Ok) => true,
            // With which exception Python says that it cannot go on with something is nobody's promise; what code raises is.
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

impl Pair {
    /// Whether the old code fails as it does in another pair: the same exception, in the same line.
    pub(crate) fn fails_like(&self, other: &Self) -> bool {
        let (one, other) = (&self.before.verdict, &other.before.verdict);
        one.kind == other.kind
            && exception(&self.before) == exception_of(other)
            && one.frame() == other.frame()
    }
}

fn exception_of(verdict: &menace_runner::Verdict) -> Option<&str> {
    verdict.facts.as_ref().map(|facts| facts.exception.as_str())
}

/// The larger the better. Failures are alike; what our machinery cannot call any more is worse than all.
fn rank(kind: OutcomeKind) -> u8 {
    match kind {
        OutcomeKind::Ok => 4,
        OutcomeKind::Rejected => 3,
        // The fault did not fire: nothing is known, and nothing was lost.
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

/// Of pairs that differ for the worse, those that do so again and that the old code does not show by itself.
pub(crate) async fn confirmed(
    before: &Arc<dyn Execute>,
    after: &Arc<dyn Execute>,
    pairs: Vec<Pair>,
    parallel: usize,
    is_bad: impl Fn(&Pair) -> bool,
) -> Result<Vec<Pair>, SandboxError> {
    let mut bad: Vec<Pair> = pairs.into_iter().filter(|pair| is_bad(pair)).collect();
    for _ in 0..AGAIN {
        if bad.is_empty() {
            break;
        }
        let calls: Vec<Call> = bad.iter().map(|pair| pair.call.clone()).collect();
        let again = paired(before, after, &calls, parallel).await?;
        // The old code against itself: what differs there is chance.
        let by_chance = |old: &Pair, new: &Pair| {
            let itself =
                Pair { call: old.call.clone(), before: old.before.clone(), after: new.before.clone() };
            is_bad(&itself)
                || is_bad(&Pair { before: itself.after.clone(), after: itself.before.clone(), ..itself })
        };
        bad = bad
            .into_iter()
            .zip(again)
            .filter(|(old, new)| !by_chance(old, new))
            .map(|(old, _)| old)
            .collect();
    }
    Ok(bad)
}

/// The mean of successes before and after under each scenario, with the number of calls.
pub(crate) fn by_scenario(pairs: &[Pair]) -> BTreeMap<String, (f64, f64, usize)> {
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
