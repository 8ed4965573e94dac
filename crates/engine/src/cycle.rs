//! One cycle: for each reason to change something, ask for proposals, prove them, keep or reject.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use menace_model::ids::RunId;
use menace_runner::{RunReport, Target, make_calls};
use menace_store::Store;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tracing::field::Empty;
use tracing::{Instrument, info_span};

use crate::alignment::Rules;
use crate::budget::{Budget, Cost};
use crate::causes::{Reason, cause, reasons};
use crate::events::Bus;
use crate::ground::{Ground, Promoted, touched};
use crate::ledger::Ledger;
use crate::memory::Memory;
use crate::proposal::Proposal;
use crate::proposers::{Attempt, Proposer, Question};
use crate::scores::Scores;
use crate::transforms::Cause;
use crate::tree::Worktree;
use crate::verify::{Suites, Verdict};
use crate::workbench::{Calls, EngineError, Workbench};

/// How the loop decides.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// What all chance comes from.
    pub seed: u64,
    /// How much worse a scenario may be.
    pub margin: f64,
    /// Whether something may be returned that was not before.
    pub allow_behaviour_change: bool,
    /// What a second of CPU time costs, in the currency of models.
    pub price_per_cpu_second: f64,
}

/// A proposal and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The proposal.
    pub proposal: Proposal,
    /// What was measured.
    pub verdict: Verdict,
    /// What it cost.
    pub cost: Cost,
    /// The commit, if it is kept.
    pub commit: Option<String>,
}

/// What happened in a cycle.
#[derive(Debug, Default)]
pub struct CycleEnd {
    /// What was looked at, in order.
    pub judged: Vec<Judged>,
    /// Why it ended before all reasons were looked at.
    pub refusal: Option<String>,
}

/// Everything that the loop works with.
pub struct Improver<'a> {
    /// Who makes calls.
    pub workbench: &'a dyn Workbench,
    /// Where everything is kept.
    pub store: &'a Store,
    /// Where code is changed.
    pub tree: &'a Worktree,
    /// Who is told.
    pub bus: &'a Bus,
    /// The run.
    pub run: RunId,
    /// The repository, as its user named it.
    pub repository: String,
    /// Modules that nobody is asked about, by path.
    pub left_alone: BTreeSet<String>,
    /// How calls are planned.
    pub calls: Calls,
    /// How it decides.
    pub options: Options,
    /// Who is asked, in order.
    pub proposers: Vec<Box<dyn Proposer>>,
    /// Becomes true when the user wants it to end.
    pub stop: watch::Receiver<bool>,
    /// The clock.
    pub now_ms: fn() -> i64,
    /// What is known of proposals, and how many there were in this run.
    pub ledger: Ledger,
    /// What may be spent.
    pub budget: Budget,
    /// What a reviewer may remark.
    pub alignment: Rules,
    /// Where scores of patches are shared.
    pub scores: Scores,
    /// What is remembered.
    pub memory: Memory,
    /// What the tests said of the code as it is, if somebody has run them.
    pub suites: Option<Suites>,
}

impl Improver<'_> {
    /// Looks at everything that a run saw. `ranking` says what modules are worth, by path.
    pub async fn cycle(
        &mut self,
        report: &RunReport,
        ranking: &BTreeMap<String, f64>,
    ) -> Result<CycleEnd, EngineError> {
        let mut ground = self.ground().await?;
        let suites = match self.suites.take() {
            Some(suites) => suites,
            None => Suites::of(self.workbench, &ground.scan.inventory).await?,
        };
        let mut end = CycleEnd::default();
        // Modules of which it is not known any more what calls of them do.
        let mut changed: BTreeSet<String> = BTreeSet::new();
        for reason in reasons(report, &ground.scan.inventory, ranking, &self.calls.modules) {
            end.refusal = self.refusal();
            if end.refusal.is_some() {
                break;
            }
            let (judged, promoted) = self.look_at(reason, &ground, &suites, &changed).await?;
            let kept = judged.last().map(|one| one.proposal.clone()).zip(promoted);
            end.judged.extend(judged);
            if let Some((proposal, promoted)) = kept {
                let (modules, seed) = (&self.calls.modules, self.options.seed);
                ground = ground.after(promoted, &proposal, modules, seed).await?;
                changed.extend(touched(&ground.scan.inventory, |path| proposal.files.contains_key(path)));
            }
        }
        Ok(end)
    }

    async fn ground(&self) -> Result<Ground, EngineError> {
        Ground::of(self.workbench, self.tree.root(), &self.calls.modules, self.options.seed).await
    }

    fn refusal(&self) -> Option<String> {
        if *self.stop.borrow() {
            return Some("its user ended it".into());
        }
        self.budget.refusal(Instant::now())
    }

    /// Asks everybody about one reason until something is kept; that comes with the code that was looked at.
    async fn look_at(
        &mut self,
        mut reason: Reason,
        ground: &Ground,
        suites: &Suites,
        changed: &BTreeSet<String>,
    ) -> Result<(Vec<Judged>, Option<Promoted>), EngineError> {
        let mut judged: Vec<Judged> = Vec::new();
        let mut kept = None;
        let Some((path, why)) = self.still(&mut reason, ground, changed).await? else {
            return Ok((judged, kept));
        };
        let reason = &reason;
        if self.left_alone.contains(&path) {
            return Ok((judged, kept));
        }
        let Ok(text) = std::fs::read_to_string(self.tree.root().join(&path)) else {
            return Ok((judged, kept));
        };
        let mut proposers = std::mem::take(&mut self.proposers);
        let price = self.options.price_per_cpu_second;
        // The one with most to expect for its cost first; those of which as much is expected stay in order.
        proposers.sort_by(|one, other| {
            let of = |proposer: &dyn Proposer| self.ledger.tracks.expected(proposer.name(), price);
            of(&**other).total_cmp(&of(&**one))
        });
        let mut ended = Ok(());
        'asking: for proposer in &proposers {
            let mut earlier: Vec<Attempt> = judged.iter().map(attempt).collect();
            let most = judged.len() + proposer.tries();
            for _ in 0..=proposer.retries() {
                let left = self.budget.left();
                let question =
                    Question { reason, cause: &why, path: &path, text: &text, earlier: &earlier, left };
                let mut stop = self.stop.clone();
                // Nobody waits for a model to answer after the user wants it to end.
                let asking = info_span!("propose", proposer = proposer.name(), section = reason.section);
                let asked = tokio::select! {
                    answer = proposer.propose(&question).instrument(asking) => answer,
                    Ok(_) = stop.wait_for(|is_wanted| *is_wanted) => break 'asking,
                };
                let answer = match asked {
                    Ok(answer) => answer,
                    Err(error) => {
                        ended = Err(error);
                        break 'asking;
                    }
                };
                self.budget.spend(&answer.cost);
                if let Some(problem) = &answer.problem {
                    tracing::warn!("{} about {}: {problem}", proposer.name(), reason.section);
                    earlier.push(Attempt { proposal: None, diff: String::new(), problem: problem.clone() });
                }
                let is_over = answer.is_over;
                let asking = Cost { seconds: 0.0, ..answer.cost };
                for proposal in answer.proposals {
                    if judged.len() >= most || self.refusal().is_some() {
                        break;
                    }
                    let is_tried = earlier.iter().any(|one| one.proposal.as_ref() == Some(&proposal.id));
                    if self.is_known_to_be_bad(&proposal) || is_tried {
                        continue;
                    }
                    let judging =
                        info_span!("judge", proposal = %proposal.id, section = reason.section, kept = Empty);
                    match self
                        .judge(proposal, &asking, reason, ground, suites)
                        .instrument(judging.clone())
                        .await
                    {
                        Ok((one, promoted)) => {
                            judging.record("kept", one.verdict.kept);
                            judged.push(one);
                            kept = promoted;
                        }
                        Err(error) => {
                            ended = Err(error);
                            break 'asking;
                        }
                    }
                    if kept.is_some() {
                        break 'asking;
                    }
                    earlier.extend(judged.last().map(attempt));
                }
                if is_over || judged.len() >= most || self.refusal().is_some() {
                    break;
                }
            }
        }
        self.proposers = proposers;
        ended.map(|()| (judged, kept))
    }

    /// Rejected before for this very text: it would be again.
    fn is_known_to_be_bad(&self, proposal: &Proposal) -> bool {
        self.ledger.rejected.contains(&proposal.id)
    }

    /// Whether what was seen can still be seen, where, and why: earlier changes may have mended or moved it.
    async fn still(
        &self,
        reason: &mut Reason,
        ground: &Ground,
        changed: &BTreeSet<String>,
    ) -> Result<Option<(String, Cause)>, EngineError> {
        let is_it = |target: &&Target| target.name() == reason.section;
        let target = ground.targets.iter().find(is_it);
        let Some(first) = reason.shown.first_mut() else {
            let (module, section) = reason.section.split_once(':').unwrap_or((&reason.section, "<module>"));
            let found = ground.scan.inventory.modules.iter().find(|one| one.name == module);
            return Ok(found.map(|module| (module.path.clone(), Cause::Review(section.to_owned()))));
        };
        let Some(target) = target else { return Ok(None) };
        if changed.contains(&target.module) {
            let calls = std::slice::from_ref(&first.call);
            let outcomes = make_calls(&ground.executor, calls, self.workbench.parallel()).await?;
            let Some(outcome) = outcomes.into_iter().find(|outcome| outcome.verdict.kind.is_failure()) else {
                return Ok(None);
            };
            first.seen = outcome.verdict;
        }
        let (path, why) = cause(target, &first.call, &first.seen);
        let is_ours = ground.scan.inventory.modules.iter().any(|module| module.path == path);
        Ok(Some(if is_ours { (path, why) } else { (target.path.clone(), why) }))
    }
}

/// What a later question is told about something that is not kept.
fn attempt(judged: &Judged) -> Attempt {
    Attempt {
        proposal: Some(judged.proposal.id.clone()),
        diff: judged.proposal.diff.clone(),
        problem: judged.verdict.reason().unwrap_or_else(|| "it could not be looked at to the end".into()),
    }
}
