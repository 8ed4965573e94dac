//! Verification of a proposal, condition by condition.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use menace_runner::{Call, CallExecutor};
use tracing::{Instrument, info_span};

use crate::alignment::{Alignment, AlignmentLevel, AlignmentRules, align};
use crate::baseline::{CodeBaseline, PromotedCandidate};
use crate::proposal::Proposal;
use crate::transforms::ProposalGain;
use crate::workbench::{CallPlanOptions, EngineError, Workbench};
use crate::worktree::Candidate;

use super::conditions::ConditionChecks;
use super::durations::{MedianDurations, times};
use super::findings;
use super::held_out::{ReproducingCall, draw};
use super::paired_calls::{
    PairedCall, by_scenario, confirmed_differences, make_paired_calls, make_timed_pairs, rerun_on_candidate,
};
use super::protected_files::{self, protected};
use super::regression_test;
use super::suites::BaselineSuites;
use menace_model::patches::Verdict;

/// Baseline, options and dependencies of a verification.
pub struct ProposalVerifier<'a> {
    /// Scans code, makes calls and runs tests.
    pub workbench: &'a dyn Workbench,
    /// The baseline.
    pub ground: &'a CodeBaseline,
    /// Directory of the baseline.
    pub root: &'a Path,
    /// Directory of the candidates.
    pub scratch: &'a Path,
    /// Options for planning calls.
    pub calls: &'a CallPlanOptions,
    /// Test results of the baseline.
    pub suites: &'a BaselineSuites,
    /// Seed of every random choice.
    pub seed: u64,
    /// Largest loss of robustness that is allowed under any scenario.
    pub margin: f64,
    /// Whether a change may alter return values.
    pub allow_behaviour_change: bool,
    /// Alignment rules.
    pub alignment: &'a AlignmentRules,
    /// Number of proposals compared since the last kept one; each raises the required probability.
    pub compared: u64,
}

/// Maximum number of calls that are timed again, and number of timings, before a candidate counts as slower.
const MOST_TIMED: usize = 48;
const SLOW_LOOKS: usize = 2;

impl ProposalVerifier<'_> {
    /// Checks the conditions, the cheapest first, until one is not met. `shown` are the failing calls. The verdict of a
    /// kept proposal comes with its candidate.
    pub async fn verify(
        &self,
        proposal: &Proposal,
        shown: &[ReproducingCall],
    ) -> Result<(Verdict, Option<PromotedCandidate>), EngineError> {
        let mut conditions = ConditionChecks::default();
        if !self.applies(proposal, &mut conditions)? {
            return Ok((conditions.verdict(), None));
        }
        let candidate = Candidate::of(self.root, self.scratch, &proposal.files)?;
        let scan = self.workbench.scan(candidate.root())?;
        let before: BTreeMap<&String, String> = protected_files::texts(self.root, proposal.files.keys())?;
        let failing: Vec<Call> = shown.iter().map(|one| one.call.clone()).collect();
        let found = if self.alignment.enabled {
            align(&before, proposal, &failing, &self.alignment.baseline)
        } else {
            Alignment::default()
        };
        if !self.is_aligned(&scan, &found, proposal, &mut conditions) {
            return Ok((conditions.verdict().with_alignment(found), None));
        }
        let mut watch = VerificationStopwatch::of(&proposal.id);
        let executor = self.workbench.executor(&scan.inventory).await?;
        watch.took("executor");
        let parallel = self.workbench.parallel();
        let again = rerun_on_candidate(&executor, shown, parallel).await?;
        conditions.cpu_seconds += again.iter().map(PairedCall::cpu_seconds).sum::<f64>();
        if let Some(pair) = again.iter().find(|pair| pair.after.verdict.kind.is_failure()) {
            conditions
                .fails(4, format!("the failing call still ends with {}", pair.after.verdict.kind.name()));
            return Ok((conditions.verdict().with_alignment(found), None));
        }
        watch.took("rerun of the failing calls");
        let drawn = draw(self, proposal, shown);
        let (about, beside): (Vec<Call>, Vec<Call>) =
            drawn.calls.iter().cloned().partition(|call| drawn.is_about(call));
        // Calls that should improve are made first: most proposals without improvement are rejected here.
        let mut pairs = make_paired_calls(&self.ground.executor, &executor, &about, parallel).await?;
        conditions.cpu_seconds += pairs.iter().map(PairedCall::cpu_seconds).sum::<f64>();
        if proposal.gain == ProposalGain::Robustness {
            self.is_better(&pairs, &mut conditions);
            self.is_fixed(&executor, &again, &pairs, &mut conditions).await?;
        }
        watch.took("held-out calls that should improve");
        if !conditions.all_hold_so_far() {
            return Ok((conditions.verdict().with_alignment(found), None));
        }
        // Tests mostly wait, so they run concurrently with the calls.
        let (others, tested) = tokio::join!(
            make_paired_calls(&self.ground.executor, &executor, &beside, parallel),
            self.suites
                .compare_on_candidate(self.workbench, &scan.inventory)
                .instrument(info_span!("tests", files = self.suites.files().cast_signed()))
        );
        let (others, tested) = (others?, tested?);
        conditions.cpu_seconds += others.iter().map(PairedCall::cpu_seconds).sum::<f64>();
        pairs.extend(others);
        watch.took("other calls, tests");
        if !self.is_no_worse(&executor, &pairs, &mut conditions).await? {
            return Ok((conditions.verdict().with_alignment(found), None));
        }
        self.is_faster(proposal, &pairs, &mut conditions);
        self.is_no_worse_anywhere(&pairs, &mut conditions);
        self.is_no_slower(&executor, proposal, &pairs, &mut conditions).await?;
        watch.took("regression, scenario and speed checks");
        // 2: every test that passed before passes in all runs, and none is missing.
        conditions.set(2, tested.is_ok(), tested.unwrap_or_else(|problem| problem));
        let mut verdict = conditions.verdict().with_alignment(found);
        if !verdict.kept {
            return Ok((verdict, None));
        }
        verdict.regression = regression_test::generate_regression_test(self, proposal, shown, &again).await?;
        watch.took("regression test");
        Ok((verdict, Some(PromotedCandidate { candidate, scan, executor })))
    }

    /// 1: the patch applies, parses, and changes no protected file.
    fn applies(&self, proposal: &Proposal, conditions: &mut ConditionChecks) -> Result<bool, EngineError> {
        if let Some(problem) =
            protected_files::problem(self.root, &self.ground.scan.inventory, &proposal.files)
        {
            conditions.fails(1, problem);
        } else {
            let hashes = protected(self.root)?;
            conditions.holds(
                1,
                format!("{} changed files, {} protected files", proposal.files.len(), hashes.len()),
            );
        }
        Ok(conditions.all_hold_so_far())
    }

    /// 7: the alignment rules accept the diff, and security findings do not increase.
    fn is_aligned(
        &self,
        scan: &menace_analysis::scan::RepositoryScan,
        found: &Alignment,
        proposal: &Proposal,
        conditions: &mut ConditionChecks,
    ) -> bool {
        let change = findings::change(&self.ground.scan.inventory, &scan.inventory, proposal.files.keys());
        conditions.figures.extend(change.figures());
        conditions.figures.insert("complexity".into(), self.complexity(scan, proposal));
        if self.alignment.level(found) == AlignmentLevel::AlignmentFailure {
            let flag = found.failing().or(found.flags.first());
            conditions.fails(7, flag.map_or_else(String::new, |flag| flag.message.clone()));
        } else if change.security_after > change.security_before {
            let added = format!("{} → {}", change.security_before, change.security_after);
            conditions.fails(7, format!("security findings increased, {added}"));
        } else {
            let looked = if self.alignment.enabled { "" } else { ", alignment rules are disabled" };
            conditions.holds(7, format!("{} flags, {change}{looked}", found.flags.len()));
        }
        if proposal.gain == ProposalGain::Findings && conditions.all_hold_so_far() {
            // The number of findings counts, not their density, so that adding lines does not help.
            if change.is_better() {
                conditions.holds(4, change.to_string());
            } else {
                conditions.fails(4, format!("no finding removed: {change}"));
            }
        }
        conditions.all_hold_so_far()
    }

    /// Added cyclomatic complexity, plus one for every fifty changed lines.
    fn complexity(&self, scan: &menace_analysis::scan::RepositoryScan, proposal: &Proposal) -> f64 {
        let of = |inventory: &menace_model::inventory::Inventory| -> f64 {
            let changed = inventory.modules.iter().filter(|module| proposal.files.contains_key(&module.path));
            changed.flat_map(|module| &module.sections).map(|section| f64::from(section.complexity)).sum()
        };
        let (added, removed) = proposal.size();
        of(&scan.inventory) - of(&self.ground.scan.inventory) + (added + removed) as f64 / 50.0
    }

    /// 3 and 8: no call regressed, and no return value changed.
    async fn is_no_worse(
        &self,
        executor: &Arc<dyn CallExecutor>,
        pairs: &[PairedCall],
        conditions: &mut ConditionChecks,
    ) -> Result<bool, EngineError> {
        let (baseline, parallel) = (&self.ground.executor, self.workbench.parallel());
        let worse =
            confirmed_differences(baseline, executor, pairs.to_vec(), parallel, PairedCall::is_worse).await?;
        match worse.first() {
            Some(pair) => conditions.fails(3, described(pair)),
            None => conditions.holds(3, format!("none in {} calls", pairs.len())),
        }
        if self.allow_behaviour_change {
            conditions.holds(8, "changes are allowed".into());
        } else {
            let other = confirmed_differences(
                baseline,
                executor,
                pairs.to_vec(),
                parallel,
                PairedCall::behaves_differently,
            )
            .await?;
            if let Some(pair) = other.first() {
                conditions.fails(8, described(pair));
            } else {
                let ok = pairs.iter().filter(|pair| pair.before.verdict.value.is_some()).count();
                conditions.holds(8, format!("{ok} return values unchanged"));
            }
        }
        Ok(conditions.all_hold_so_far())
    }

    /// 4: the candidate is significantly better on held-out inputs.
    fn is_better(&self, about: &[PairedCall], conditions: &mut ConditionChecks) {
        let counting = about.iter().filter(|pair| pair.counts());
        let (before, after): (Vec<f64>, Vec<f64>) = counting.map(PairedCall::successes).unzip();
        self.compare(&before, &after, "gain", conditions);
    }

    /// 4, for a claimed speed-up: compares logarithms of durations, so that a speed-up is a gain above 0.
    fn is_faster(&self, proposal: &Proposal, pairs: &[PairedCall], conditions: &mut ConditionChecks) {
        if proposal.gain != ProposalGain::Speed {
            return;
        }
        let (before, after) = times(pairs.iter().filter(|pair| pair.call.section() == proposal.section));
        let ln = |times: &[f64]| times.iter().map(|time| -time.max(1e-3).ln()).collect::<Vec<f64>>();
        self.compare(&ln(&before), &ln(&after), "log speed-up", conditions);
    }

    /// 5: no scenario loses more robustness than the margin.
    fn is_no_worse_anywhere(&self, pairs: &[PairedCall], conditions: &mut ConditionChecks) {
        let scenarios = by_scenario(pairs);
        let worst = scenarios.iter().map(|(name, (before, after, n))| (after - before, name, n));
        match worst.min_by(|one, other| one.0.total_cmp(&other.0)) {
            None => conditions.fails(5, "no outcome counts".into()),
            Some((difference, name, n)) => {
                let limit = -self.margin;
                let figure =
                    format!("worst change {difference:+.3} under {name} over {n} calls, limit {limit:+.3}");
                conditions.set(5, difference >= limit, figure);
            }
        }
        conditions.scenarios = scenarios;
    }

    /// 4: no call with the failure signature of the cause still fails. A fix for some inputs of a kind is not a fix.
    async fn is_fixed(
        &self,
        executor: &Arc<dyn CallExecutor>,
        again: &[PairedCall],
        pairs: &[PairedCall],
        conditions: &mut ConditionChecks,
    ) -> Result<(), EngineError> {
        let Some(shown) = again.first() else { return Ok(()) };
        let is_left = |pair: &PairedCall| pair.fails_like(shown) && pair.after.verdict.kind.is_failure();
        let left: Vec<PairedCall> = pairs.iter().filter(|pair| is_left(pair)).cloned().collect();
        let calls: Vec<Call> = left.iter().map(|pair| pair.call.clone()).collect();
        let baseline = &self.ground.executor;
        // Flaky failures do not repeat.
        let rerun = make_paired_calls(baseline, executor, &calls, self.workbench.parallel()).await?;
        if let Some(pair) = rerun.iter().find(|pair| is_left(pair)) {
            let of = pairs.iter().filter(|pair| pair.fails_like(shown)).count();
            conditions.fails(
                4,
                format!(
                    "{} of {of} calls with the same failure signature still fail: {}",
                    left.len(),
                    described(pair)
                ),
            );
        }
        Ok(())
    }

    /// 4: the paired test. The required probability rises with the number of comparisons since the last kept proposal.
    fn compare(&self, before: &[f64], after: &[f64], unit: &str, conditions: &mut ConditionChecks) {
        let n = before.len();
        match menace_tracker::compare_pairs(before, after, self.compared, self.seed) {
            None => conditions.fails(4, format!("too few held-out calls that count ({n})")),
            Some(verdict) => {
                let (low, high) = verdict.interval;
                let result = if verdict.is_better() { "better" } else { "not significantly better" };
                let figure = format!(
                    "{result} on held-out inputs (P {:.6}, needs {:.6}; {unit} {:+.3} [{low:+.3} … {high:+.3}] over {n} calls)",
                    verdict.probability, verdict.needed, verdict.gain
                );
                conditions.compared(verdict.is_better(), figure, verdict);
            }
        }
    }

    /// 6: successful calls are not slower, in the changed section and overall. Calls of both sides are interleaved.
    async fn is_no_slower(
        &self,
        executor: &Arc<dyn CallExecutor>,
        proposal: &Proposal,
        pairs: &[PairedCall],
        conditions: &mut ConditionChecks,
    ) -> Result<(), EngineError> {
        let all = MedianDurations::of(pairs.iter());
        let of_section =
            MedianDurations::of(pairs.iter().filter(|pair| pair.call.section() == proposal.section));
        let paces: Vec<&MedianDurations> = all.iter().chain(&of_section).collect();
        if paces.is_empty() {
            conditions.holds(6, "no successful calls to compare".into());
            return Ok(());
        }
        if !paces.iter().any(|pace| pace.is_slower()) {
            conditions.holds(6, paces[0].to_string());
            return Ok(());
        }
        // A busy machine may slow down one measurement. Slow code is slow in every measurement.
        let is_of_section = of_section.as_ref().is_some_and(MedianDurations::is_slower);
        let calls: Vec<Call> = pairs
            .iter()
            .filter(|pair| pair.successes() == (1.0, 1.0))
            .filter(|pair| !is_of_section || pair.call.section() == proposal.section)
            .map(|pair| pair.call.clone())
            .take(MOST_TIMED)
            .collect();
        for look in 1..=SLOW_LOOKS {
            let again = make_timed_pairs(&self.ground.executor, executor, &calls).await?;
            conditions.cpu_seconds += again.iter().map(PairedCall::cpu_seconds).sum::<f64>();
            match MedianDurations::of(again.iter()) {
                Some(pace) if pace.is_slower() && look == SLOW_LOOKS => {
                    conditions.fails(6, format!("{pace}, slower in each of {} measurements", SLOW_LOOKS + 1));
                }
                Some(pace) if pace.is_slower() => {}
                Some(pace) => {
                    conditions.holds(6, format!("{pace}, measured again without concurrent calls"));
                    break;
                }
                None => {
                    conditions.fails(6, "calls that succeeded fail when repeated".into());
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Logs the durations of the parts of a verification.
struct VerificationStopwatch<'a> {
    proposal: &'a str,
    since: Instant,
}

impl<'a> VerificationStopwatch<'a> {
    fn of(proposal: &'a str) -> Self {
        Self { proposal, since: Instant::now() }
    }

    fn took(&mut self, what: &str) {
        tracing::debug!("{}: {what} took {} ms", self.proposal, self.since.elapsed().as_millis());
        self.since = Instant::now();
    }
}

/// Outcomes of a call before and after, in words.
fn described(pair: &PairedCall) -> String {
    let shown = |outcome: &menace_runner::CallOutcome| {
        let verdict = &outcome.verdict;
        match (&verdict.value, verdict.message()) {
            (Some(value), _) if verdict.kind.is_success() => {
                format!("{} {}", verdict.kind.name(), value.chars().take(60).collect::<String>())
            }
            (_, Some(message)) => {
                format!("{} {}", verdict.kind.name(), message.chars().take(80).collect::<String>())
            }
            _ => verdict.kind.name().to_owned(),
        }
    };
    format!(
        "{} under {}: {} → {}",
        pair.call.section(),
        pair.call.circumstances.scenario,
        shown(&pair.before),
        shown(&pair.after)
    )
}
