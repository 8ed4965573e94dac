//! Looks at a proposal, one condition after the other.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use menace_runner::{Call, Execute};
use tracing::{Instrument, info_span};

use crate::alignment::{Alignment, Level, Rules, align};
use crate::ground::{Ground, Promoted};
use crate::proposal::Proposal;
use crate::transforms::Gain;
use crate::tree::Candidate;
use crate::workbench::{Calls, EngineError, Workbench};

use super::conditions::{Conditions, Verdict};
use super::files::{self, protected};
use super::findings;
use super::held_out::{Shown, draw};
use super::pace::{Pace, times};
use super::paired::{Pair, by_scenario, confirmed, paired, shown_again, timed};
use super::regression;
use super::suites::Suites;

/// What verification needs to know beside the proposal.
pub struct Verifier<'a> {
    /// Who makes calls.
    pub workbench: &'a dyn Workbench,
    /// The code as it is.
    pub ground: &'a Ground,
    /// The root of that code.
    pub root: &'a Path,
    /// Where copies of it are made.
    pub scratch: &'a Path,
    /// How calls are planned.
    pub calls: &'a Calls,
    /// What the tests of the code say now.
    pub suites: &'a Suites,
    /// What all chance comes from.
    pub seed: u64,
    /// How much worse a scenario may be.
    pub margin: f64,
    /// Whether something may be returned that was not before.
    pub allow_behaviour_change: bool,
    /// What a reviewer may remark.
    pub alignment: &'a Rules,
    /// How many proposals were compared since one was kept: each makes it harder for the next.
    pub compared: u64,
}

/// Calls that are made again, and how often, before something is called slower.
const MOST_TIMED: usize = 48;
const SLOW_LOOKS: usize = 2;

impl Verifier<'_> {
    /// Looks at a proposal, the cheapest conditions first, until one does not hold. `shown` are calls that it is about. What is
    /// kept comes with the code that was looked at.
    pub async fn verify(
        &self,
        proposal: &Proposal,
        shown: &[Shown],
    ) -> Result<(Verdict, Option<Promoted>), EngineError> {
        let mut conditions = Conditions::default();
        if !self.applies(proposal, &mut conditions)? {
            return Ok((conditions.verdict(), None));
        }
        let candidate = Candidate::of(self.root, self.scratch, &proposal.files)?;
        let scan = self.workbench.scan(candidate.root())?;
        let before: BTreeMap<&String, String> = files::texts(self.root, proposal.files.keys())?;
        let failing: Vec<Call> = shown.iter().map(|one| one.call.clone()).collect();
        let found = if self.alignment.enabled {
            align(&before, proposal, &failing, &self.alignment.baseline)
        } else {
            Alignment::default()
        };
        if !self.is_aligned(&scan, &found, proposal, &mut conditions) {
            return Ok((conditions.verdict().with_alignment(found), None));
        }
        let mut watch = Stopwatch::of(&proposal.id);
        let executor = self.workbench.executor(&scan.inventory).await?;
        watch.took("executor");
        let parallel = self.workbench.parallel();
        let again = shown_again(&executor, shown, parallel).await?;
        conditions.cpu_seconds += again.iter().map(Pair::cpu_seconds).sum::<f64>();
        if let Some(pair) = again.iter().find(|pair| pair.after.verdict.kind.is_failure()) {
            conditions
                .fails(4, format!("the call that showed it is still {}", pair.after.verdict.kind.name()));
            return Ok((conditions.verdict().with_alignment(found), None));
        }
        watch.took("shown again");
        let drawn = draw(self, proposal, shown);
        let (about, beside): (Vec<Call>, Vec<Call>) =
            drawn.calls.iter().cloned().partition(|call| drawn.is_about(call));
        // Calls that it is about say most, so they are made first: most of what is no better ends here.
        let mut pairs = paired(&self.ground.executor, &executor, &about, parallel).await?;
        conditions.cpu_seconds += pairs.iter().map(Pair::cpu_seconds).sum::<f64>();
        if proposal.gain == Gain::Robustness {
            self.is_better(&pairs, &mut conditions);
            self.is_mended(&executor, &again, &pairs, &mut conditions).await?;
        }
        watch.took("calls it is about");
        if !conditions.all_hold_so_far() {
            return Ok((conditions.verdict().with_alignment(found), None));
        }
        // Tests wait more than they calculate, so they run meanwhile.
        let (others, tested) = tokio::join!(
            paired(&self.ground.executor, &executor, &beside, parallel),
            self.suites
                .compared(self.workbench, &scan.inventory)
                .instrument(info_span!("tests", files = self.suites.files().cast_signed()))
        );
        let (others, tested) = (others?, tested?);
        conditions.cpu_seconds += others.iter().map(Pair::cpu_seconds).sum::<f64>();
        pairs.extend(others);
        watch.took("other calls, tests");
        if !self.is_no_worse(&executor, &pairs, &mut conditions).await? {
            return Ok((conditions.verdict().with_alignment(found), None));
        }
        self.is_faster(proposal, &pairs, &mut conditions);
        self.is_no_worse_anywhere(&pairs, &mut conditions);
        self.is_no_slower(&executor, proposal, &pairs, &mut conditions).await?;
        watch.took("looked at closely");
        // 2: every test that passed passes, again and again, and none is missing.
        conditions.set(2, tested.is_ok(), tested.unwrap_or_else(|problem| problem));
        let mut verdict = conditions.verdict().with_alignment(found);
        if !verdict.kept {
            return Ok((verdict, None));
        }
        verdict.regression = regression::made(self, proposal, shown, &again).await?;
        watch.took("regression test");
        Ok((verdict, Some(Promoted { candidate, scan, executor })))
    }

    /// 1: it applies, parses, and touches only what may be touched.
    fn applies(&self, proposal: &Proposal, conditions: &mut Conditions) -> Result<bool, EngineError> {
        if let Some(problem) = files::problem(self.root, &self.ground.scan.inventory, &proposal.files) {
            conditions.fails(1, problem);
        } else {
            let hashes = protected(self.root)?;
            conditions.holds(1, format!("{} changed, {} protected", proposal.files.len(), hashes.len()));
        }
        Ok(conditions.all_hold_so_far())
    }

    /// 7: what it does to the code is what a reviewer would accept, and there are no more findings than before.
    fn is_aligned(
        &self,
        scan: &menace_analysis::scan::Scan,
        found: &Alignment,
        proposal: &Proposal,
        conditions: &mut Conditions,
    ) -> bool {
        let change = findings::change(&self.ground.scan.inventory, &scan.inventory, proposal.files.keys());
        conditions.figures.extend(change.figures());
        conditions.figures.insert("complexity".into(), self.complexity(scan, proposal));
        if self.alignment.level(found) == Level::AlignmentFailure {
            let flag = found.failing().or(found.flags.first());
            conditions.fails(7, flag.map_or_else(String::new, |flag| flag.message.clone()));
        } else if change.security_after > change.security_before {
            let added = format!("{} → {}", change.security_before, change.security_after);
            conditions.fails(7, format!("security findings {added}"));
        } else {
            let looked = if self.alignment.enabled { "" } else { ", and nobody looked at the rest" };
            conditions.holds(7, format!("{} flags, {change}{looked}", found.flags.len()));
        }
        if proposal.gain == Gain::Findings && conditions.all_hold_so_far() {
            // What is not about calls is about what reading finds: the number, not the density, so that lines do not help.
            if change.is_better() {
                conditions.holds(4, change.to_string());
            } else {
                conditions.fails(4, format!("it removes no finding: {change}"));
            }
        }
        conditions.all_hold_so_far()
    }

    /// Cyclomatic complexity that it adds, and lines that it changes, fifty of which are as much as one.
    fn complexity(&self, scan: &menace_analysis::scan::Scan, proposal: &Proposal) -> f64 {
        let of = |inventory: &menace_model::inventory::Inventory| -> f64 {
            let changed = inventory.modules.iter().filter(|module| proposal.files.contains_key(&module.path));
            changed.flat_map(|module| &module.sections).map(|section| f64::from(section.complexity)).sum()
        };
        let (added, removed) = proposal.size();
        of(&scan.inventory) - of(&self.ground.scan.inventory) + (added + removed) as f64 / 50.0
    }

    /// 3 and 8: nothing that was fine is worse or different.
    async fn is_no_worse(
        &self,
        executor: &Arc<dyn Execute>,
        pairs: &[Pair],
        conditions: &mut Conditions,
    ) -> Result<bool, EngineError> {
        let (ground, parallel) = (&self.ground.executor, self.workbench.parallel());
        let worse = confirmed(ground, executor, pairs.to_vec(), parallel, Pair::is_worse).await?;
        match worse.first() {
            Some(pair) => conditions.fails(3, described(pair)),
            None => conditions.holds(3, format!("{} calls", pairs.len())),
        }
        if self.allow_behaviour_change {
            conditions.holds(8, "allowed by its user".into());
        } else {
            let other =
                confirmed(ground, executor, pairs.to_vec(), parallel, Pair::behaves_differently).await?;
            if let Some(pair) = other.first() {
                conditions.fails(8, described(pair));
            } else {
                let ok = pairs.iter().filter(|pair| pair.before.verdict.value.is_some()).count();
                conditions.holds(8, format!("{ok} values"));
            }
        }
        Ok(conditions.all_hold_so_far())
    }

    /// 4: on calls that were drawn after it was proposed, it is better.
    fn is_better(&self, about: &[Pair], conditions: &mut Conditions) {
        let counting = about.iter().filter(|pair| pair.counts());
        let (before, after): (Vec<f64>, Vec<f64>) = counting.map(Pair::successes).unzip();
        self.compare(&before, &after, "", conditions);
    }

    /// 4, for what claims to be faster: how many times, as a logarithm, so that a gain is more than 0.
    fn is_faster(&self, proposal: &Proposal, pairs: &[Pair], conditions: &mut Conditions) {
        if proposal.gain != Gain::Speed {
            return;
        }
        let (before, after) = times(pairs.iter().filter(|pair| pair.call.section() == proposal.section));
        let ln = |times: &[f64]| times.iter().map(|time| -time.max(1e-3).ln()).collect::<Vec<f64>>();
        self.compare(&ln(&before), &ln(&after), "ln of times faster, ", conditions);
    }

    /// 5: it is worse under no scenario.
    fn is_no_worse_anywhere(&self, pairs: &[Pair], conditions: &mut Conditions) {
        let scenarios = by_scenario(pairs);
        let worst = scenarios.iter().map(|(name, (before, after, n))| (after - before, name, n));
        match worst.min_by(|one, other| one.0.total_cmp(&other.0)) {
            None => conditions.fails(5, "no call counts".into()),
            Some((difference, name, n)) => {
                let figure = format!("{difference:+.3} at worst, {name}, {n} calls");
                conditions.set(5, difference >= -self.margin, figure);
            }
        }
        conditions.scenarios = scenarios;
    }

    /// 4: no call that failed in the way that is mended still fails in that way: an answer for some inputs of a kind is none.
    async fn is_mended(
        &self,
        executor: &Arc<dyn Execute>,
        again: &[Pair],
        pairs: &[Pair],
        conditions: &mut Conditions,
    ) -> Result<(), EngineError> {
        let Some(shown) = again.first() else { return Ok(()) };
        let is_left = |pair: &Pair| pair.fails_like(shown) && pair.after.verdict.kind.is_failure();
        let left: Vec<Pair> = pairs.iter().filter(|pair| is_left(pair)).cloned().collect();
        let calls: Vec<Call> = left.iter().map(|pair| pair.call.clone()).collect();
        let ground = &self.ground.executor;
        // What fails by chance does not fail again.
        let once_more = paired(ground, executor, &calls, self.workbench.parallel()).await?;
        if let Some(pair) = once_more.iter().find(|pair| is_left(pair)) {
            let of = pairs.iter().filter(|pair| pair.fails_like(shown)).count();
            conditions.fails(
                4,
                format!("{} of {of} calls that failed alike still fail: {}", left.len(), described(pair)),
            );
        }
        Ok(())
    }

    /// 4: the paired test, with less doubt allowed the more was compared before.
    fn compare(&self, before: &[f64], after: &[f64], unit: &str, conditions: &mut Conditions) {
        let n = before.len();
        match menace_tracker::paired_verdict(before, after, self.compared, self.seed) {
            None => conditions.fails(4, format!("{n} calls are too few")),
            Some(verdict) => {
                let (low, high) = verdict.interval;
                let figure = format!(
                    "{unit}{:+.3} ({low:+.3} … {high:+.3}) of {n} calls, P {:.6} ≥ {:.6}",
                    verdict.gain, verdict.probability, verdict.needed
                );
                conditions.compared(verdict.is_better(), figure, verdict);
            }
        }
    }

    /// 6: both were made in turns, and what worked takes no longer, in the changed section and in all.
    async fn is_no_slower(
        &self,
        executor: &Arc<dyn Execute>,
        proposal: &Proposal,
        pairs: &[Pair],
        conditions: &mut Conditions,
    ) -> Result<(), EngineError> {
        let all = Pace::of(pairs.iter());
        let of_section = Pace::of(pairs.iter().filter(|pair| pair.call.section() == proposal.section));
        let paces: Vec<&Pace> = all.iter().chain(&of_section).collect();
        if paces.is_empty() {
            conditions.holds(6, "no speed is claimed, and no call worked before".into());
            return Ok(());
        }
        if !paces.iter().any(|pace| pace.is_slower()) {
            conditions.holds(6, paces[0].to_string());
            return Ok(());
        }
        // A machine that is busy makes everything slow. Code that is slow is so each time.
        let is_of_section = of_section.as_ref().is_some_and(Pace::is_slower);
        let calls: Vec<Call> = pairs
            .iter()
            .filter(|pair| pair.successes() == (1.0, 1.0))
            .filter(|pair| !is_of_section || pair.call.section() == proposal.section)
            .map(|pair| pair.call.clone())
            .take(MOST_TIMED)
            .collect();
        for look in 1..=SLOW_LOOKS {
            let again = timed(&self.ground.executor, executor, &calls).await?;
            conditions.cpu_seconds += again.iter().map(Pair::cpu_seconds).sum::<f64>();
            match Pace::of(again.iter()) {
                Some(pace) if pace.is_slower() && look == SLOW_LOOKS => {
                    conditions.fails(6, format!("{pace}, each of {} times", SLOW_LOOKS + 1));
                }
                Some(pace) if pace.is_slower() => {}
                Some(pace) => {
                    conditions.holds(6, format!("{pace}, in a look of its own"));
                    break;
                }
                None => {
                    conditions.fails(6, "calls that worked do not work again".into());
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Says how long parts of a proof took, to whoever wants to know.
struct Stopwatch<'a> {
    proposal: &'a str,
    since: Instant,
}

impl<'a> Stopwatch<'a> {
    fn of(proposal: &'a str) -> Self {
        Self { proposal, since: Instant::now() }
    }

    fn took(&mut self, what: &str) {
        tracing::debug!("{}: {what} took {} ms", self.proposal, self.since.elapsed().as_millis());
        self.since = Instant::now();
    }
}

/// What is different about a call.
fn described(pair: &Pair) -> String {
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
