//! Held-out inputs: calls drawn after a proposal was made, from a separate random stream.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::calls::OutcomeKind;
use menace_runner::{Call, CallClassification, CallableSection, PlanInputs, PlannedPreset, plan};

use super::ProposalVerifier;
use crate::proposal::Proposal;

/// A call that reproduces the failure that a proposal should fix.
#[derive(Debug, Clone)]
pub struct ReproducingCall {
    /// The call.
    pub call: Call,
    /// Outcome on the baseline.
    pub seen: CallClassification,
    /// Share of calls in its cell that failed.
    pub share: f64,
    /// Duration of the slowest call that did not time out, in milliseconds, by scenario; empty if no call of the
    /// section timed out.
    pub ended: BTreeMap<String, f64>,
}

/// Held-out calls; those of the section under a failing scenario should improve.
pub(super) struct HeldOutCalls {
    pub(super) calls: Vec<Call>,
    section: String,
    scenarios: BTreeSet<String>,
}

impl HeldOutCalls {
    /// Whether a call should improve.
    pub(super) fn is_about(&self, call: &Call) -> bool {
        call.section() == self.section && self.scenarios.contains(&call.circumstances.scenario)
    }
}

/// Calls of the section under a scenario without failures, and of other sections.
const BESIDE: usize = 6;
const OF_OTHERS: usize = 3;
/// Calls of the section under the baseline preset, to compare return values.
const ORDINARY: usize = 24;
/// Maximum number of sections in modules that import the changed one.
const MOST_USERS: usize = 12;
/// Minimum and maximum number of calls under failing scenarios, and maximum number of calls that time out.
const FEWEST: usize = 16;
const MOST: usize = 400;
const MOST_SLOW: usize = 24;
/// Maximum number of random streams.
const MOST_STREAMS: usize = 100;
/// Factor over the number of calls needed at the observed failure rate, as a reserve.
const RESERVE: f64 = 1.6;
const SLOW_RESERVE: f64 = 1.25;

/// Draws calls of the section, of its module, and of modules that import it.
pub(super) fn draw(
    verifier: &ProposalVerifier<'_>,
    proposal: &Proposal,
    shown: &[ReproducingCall],
) -> HeldOutCalls {
    let scenarios: BTreeSet<String> =
        shown.iter().map(|one| one.call.circumstances.scenario.clone()).collect();
    let is_where_it_fails = |preset: &PlannedPreset| scenarios.contains(&preset.circumstances.scenario);
    let is_about = |target: &&CallableSection| target.name() == proposal.section;
    let about: Vec<CallableSection> = verifier.ground.targets.iter().filter(is_about).cloned().collect();
    let stream = |number: usize| seed(verifier.seed, &format!("{} {number}", proposal.id));
    let mut calls = planned(verifier, &about, stream(0), &|preset| match &preset.circumstances {
        circumstances if is_where_it_fails(preset) => circumstances.calls,
        circumstances if circumstances.is_baseline => ORDINARY,
        _ => BESIDE,
    });
    let count =
        |calls: &[Call]| calls.iter().filter(|call| scenarios.contains(&call.circumstances.scenario)).count();
    // A stream starts with inputs that often fail: empty, zero, negative. So several streams are drawn, each as long as
    // that of a run, and a failure is as frequent in them as it was in the run.
    let enough = needed_call_count(shown, verifier.compared);
    let mut number = 1;
    while count(&calls) < enough && number < MOST_STREAMS {
        let more = planned(verifier, &about, stream(number), &|preset| {
            if is_where_it_fails(preset) { preset.circumstances.calls } else { 0 }
        });
        if more.is_empty() {
            break;
        }
        calls.extend(more);
        number += 1;
    }
    calls.extend(planned(verifier, &others(verifier, proposal), stream(0), &|preset| {
        if preset.circumstances.is_baseline {
            OF_OTHERS
        } else {
            usize::from(preset.circumstances.is_cheap())
        }
    }));
    for one in shown.iter().filter(|one| !one.ended.is_empty()) {
        let calls = calls.iter_mut().filter(|call| !call.circumstances.disturbs_network());
        for call in calls {
            // The durations of other sections are not known here.
            let is_of_it = call.section() == proposal.section;
            let slowest = one.ended.get(&call.circumstances.scenario).filter(|_| is_of_it);
            call.timeout_ms = reduced_timeout_ms(call.timeout_ms, slowest.copied());
        }
    }
    HeldOutCalls { calls, section: proposal.section.clone(), scenarios }
}

/// Whether the failure is a timeout.
fn is_slow(shown: &[ReproducingCall]) -> bool {
    shown.iter().any(|one| one.seen.kind == OutcomeKind::Timeout)
}

/// Time limit relative to the slowest call that did not time out, and its minimum: enough to detect a timeout.
const TIMES_AS_LONG: f64 = 5.0;
const LEAST_MS: u64 = 250;

/// Reduced time limit for calls of a section with timeouts, because each timeout costs the full limit, on the baseline
/// and maybe on the candidate. It is at most half of the usual limit and the same on both sides.
fn reduced_timeout_ms(usual_ms: u64, slowest_ended_ms: Option<f64>) -> u64 {
    let half = usual_ms.div_ceil(2);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "durations are not negative, and the cast saturates"
    )]
    let enough = slowest_ended_ms.map_or(half, |slowest| (slowest * TIMES_AS_LONG).ceil() as u64);
    enough.clamp(LEAST_MS.min(half), half)
}

/// Plans calls of sections, with the number of calls given by `calls` for each preset.
fn planned(
    verifier: &ProposalVerifier<'_>,
    targets: &[CallableSection],
    seed: u64,
    calls: &dyn Fn(&PlannedPreset) -> usize,
) -> Vec<Call> {
    let presets: Vec<PlannedPreset> = verifier
        .calls
        .presets
        .iter()
        .map(|preset| {
            let mut preset = preset.clone();
            preset.circumstances.calls = calls(&preset);
            preset
        })
        .collect();
    let planning = PlanInputs {
        targets,
        presets: &presets,
        seed,
        source: verifier.calls.source,
        owners: &verifier.ground.owners,
        given: &verifier.calls.given,
    };
    let plan = plan(&planning);
    (0..plan.calls.len())
        .filter(|number| plan.calls[*number].purpose.counts())
        .map(|number| plan.call(number, &planning, verifier.calls.timeout))
        .collect()
}

/// Number of calls at which, at the observed failure rate, the difference is significant.
fn needed_call_count(shown: &[ReproducingCall], compared: u64) -> usize {
    let needed = f64::from(menace_tracker::pairs_needed(compared));
    let share = shown.iter().map(|one| one.share).fold(f64::INFINITY, f64::min).clamp(0.01, 1.0);
    let (most, reserve) =
        if is_slow(shown) { (MOST_SLOW as f64 / share, SLOW_RESERVE) } else { (MOST as f64, RESERVE) };
    let calls = (needed * reserve / share).clamp(FEWEST as f64, most.clamp(FEWEST as f64, MOST as f64));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between the fewest and the most calls"
    )]
    let calls = calls.ceil() as usize;
    calls
}

/// Other sections of changed modules, and some sections of modules that import them.
fn others(verifier: &ProposalVerifier<'_>, proposal: &Proposal) -> Vec<CallableSection> {
    let inventory = &verifier.ground.scan.inventory;
    let changed: BTreeSet<&str> = inventory
        .modules
        .iter()
        .filter(|module| proposal.files.contains_key(&module.path))
        .map(|module| module.name.as_str())
        .collect();
    let uses = |target: &CallableSection| {
        let module = inventory.modules.iter().find(|module| module.path == target.path);
        module.is_some_and(|module| module.imports.iter().any(|name| changed.contains(name.as_str())))
    };
    let targets = verifier.ground.targets.iter().filter(|target| target.name() != proposal.section);
    let (mut inside, outside): (Vec<CallableSection>, Vec<CallableSection>) =
        targets.cloned().partition(|target| changed.contains(target.module.as_str()));
    inside.extend(outside.into_iter().filter(uses).take(MOST_USERS));
    inside
}

/// Seed of a random stream that differs from that of the run and of every other proposal.
fn seed(of_run: u64, proposal: &str) -> u64 {
    let hash = blake3::hash(format!("held out {of_run} {proposal}").as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::{reduced_timeout_ms, seed};

    #[test]
    fn the_time_limit_follows_the_slowest_call_that_ended() {
        assert_eq!(reduced_timeout_ms(2000, Some(100.0)), 500);
        assert_eq!(reduced_timeout_ms(2000, Some(1.0)), 250);
        assert_eq!(reduced_timeout_ms(2000, Some(900.0)), 1000);
        assert_eq!(reduced_timeout_ms(2000, None), 1000);
        assert_eq!(reduced_timeout_ms(300, Some(1.0)), 150);
    }

    #[test]
    fn every_proposal_has_its_own_random_stream() {
        assert_eq!(seed(1, "p_1"), seed(1, "p_1"));
        assert_ne!(seed(1, "p_1"), seed(1, "p_2"));
        assert_ne!(seed(1, "p_1"), seed(2, "p_1"));
        assert_ne!(seed(1, "p_1"), 1);
    }
}
