//! One cycle: for each cause, ask the proposers, verify their proposals, keep or reject them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Instant;

use menace_model::ids::RunId;
use menace_runner::{CallScheduler, CallableSection, RunReport};
use menace_store::Store;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tracing::field::Empty;
use tracing::{Instrument, info_span};

use crate::alignment::AlignmentRules;
use crate::baseline::{CodeBaseline, PromotedCandidate, affected_modules};
use crate::budget::{Budget, BudgetStop, StepCost};
use crate::causes::{RankedCause, cause_of_call, ranked_causes};
use crate::events::RunEventBus;
use crate::ledger::Ledger;
use crate::memory::Memory;
use crate::proposal::Proposal;
use crate::proposers::{ProposalRequest, Proposer, RejectedAttempt};
use crate::scores::ScorePublisher;
use crate::transforms::Cause;
use crate::verify::{BaselineSuites, Verdict};
use crate::workbench::{CallPlanOptions, EngineError, Workbench};
use crate::worktree::Worktree;

/// Options of a cycle.
#[derive(Debug, Clone, Copy)]
pub struct CycleOptions {
    /// Seed of every random choice.
    pub seed: u64,
    /// Largest loss of robustness that is allowed under any scenario.
    pub margin: f64,
    /// Whether a change may alter return values.
    pub allow_behaviour_change: bool,
    /// Price of a second of CPU time, in the currency of model prices.
    pub price_per_cpu_second: f64,
}

/// A proposal with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedProposal {
    /// The proposal.
    pub proposal: Proposal,
    /// Verdict with its measurements.
    pub verdict: Verdict,
    /// Cost of proposing and verifying it.
    pub cost: StepCost,
    /// The commit, if it is kept.
    pub commit: Option<String>,
}

/// Reason why a cycle ended before all causes were tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CycleStop {
    /// The user interrupted the run.
    Interrupted,
    /// The budget allows no further step.
    Budget(BudgetStop),
}

impl fmt::Display for CycleStop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => formatter.write_str("interrupted by the user"),
            Self::Budget(reason) => write!(formatter, "budget spent: {reason}"),
        }
    }
}

/// Result of a cycle.
#[derive(Debug, Default)]
pub struct CycleResult {
    /// Verified proposals, in order.
    pub judged: Vec<JudgedProposal>,
    /// Reason why the cycle ended before all causes were tried.
    pub stopped: Option<CycleStop>,
}

/// State and dependencies of the cycles of one run.
pub struct CycleRunner<'a> {
    /// Scans code, makes calls and runs tests.
    pub workbench: &'a dyn Workbench,
    /// Database of the run.
    pub store: &'a Store,
    /// Worktree that receives kept patches.
    pub tree: &'a Worktree,
    /// Event bus of the run.
    pub bus: &'a RunEventBus,
    /// Id of the run.
    pub run: RunId,
    /// Repository, as named on the command line.
    pub repository: String,
    /// Paths of modules for which no proposals are requested.
    pub left_alone: BTreeSet<String>,
    /// Options for planning calls.
    pub calls: CallPlanOptions,
    /// Options of the cycles.
    pub options: CycleOptions,
    /// Proposers, in order of preference.
    pub proposers: Vec<Box<dyn Proposer>>,
    /// Becomes true when the user interrupts the run.
    pub stop: watch::Receiver<bool>,
    /// Clock, in milliseconds since the Unix epoch.
    pub now_ms: fn() -> i64,
    /// Ledger of the proposals of this run and earlier ones.
    pub ledger: Ledger,
    /// Budget of the run.
    pub budget: Budget,
    /// Alignment rules.
    pub alignment: AlignmentRules,
    /// Publisher of patch scores.
    pub scores: ScorePublisher,
    /// Memory of prompts, answers and lessons.
    pub memory: Memory,
    /// Test results of the baseline, if they are already known.
    pub suites: Option<BaselineSuites>,
}

impl CycleRunner<'_> {
    /// Tries every cause found in the report of a run. `ranking` is the worth of modules, by path.
    pub async fn cycle(
        &mut self,
        report: &RunReport,
        ranking: &BTreeMap<String, f64>,
    ) -> Result<CycleResult, EngineError> {
        let mut baseline = self.baseline().await?;
        let suites = match self.suites.take() {
            Some(suites) => suites,
            None => BaselineSuites::of(self.workbench, &baseline.scan.inventory).await?,
        };
        let mut end = CycleResult::default();
        // Modules whose outcomes in the report are outdated by a kept patch.
        let mut changed: BTreeSet<String> = BTreeSet::new();
        for reason in ranked_causes(report, &baseline.scan.inventory, ranking, &self.calls.modules) {
            end.stopped = self.stop_reason();
            if end.stopped.is_some() {
                break;
            }
            let (judged, promoted) = self.try_cause(reason, &baseline, &suites, &changed).await?;
            let kept = judged.last().map(|one| one.proposal.clone()).zip(promoted);
            end.judged.extend(judged);
            if let Some((proposal, promoted)) = kept {
                let (modules, seed) = (&self.calls.modules, self.options.seed);
                baseline = baseline.after(promoted, &proposal, modules, seed).await?;
                changed.extend(affected_modules(&baseline.scan.inventory, |path| {
                    proposal.files.contains_key(path)
                }));
            }
        }
        Ok(end)
    }

    async fn baseline(&self) -> Result<CodeBaseline, EngineError> {
        CodeBaseline::of(self.workbench, self.tree.root(), &self.calls.modules, self.options.seed).await
    }

    fn stop_reason(&self) -> Option<CycleStop> {
        if *self.stop.borrow() {
            return Some(CycleStop::Interrupted);
        }
        self.budget.stop_reason(Instant::now()).map(CycleStop::Budget)
    }

    /// Asks the proposers about one cause until a proposal is kept; a kept proposal comes with its verified candidate.
    async fn try_cause(
        &mut self,
        mut reason: RankedCause,
        baseline: &CodeBaseline,
        suites: &BaselineSuites,
        changed: &BTreeSet<String>,
    ) -> Result<(Vec<JudgedProposal>, Option<PromotedCandidate>), EngineError> {
        let mut judged: Vec<JudgedProposal> = Vec::new();
        let mut kept = None;
        let Some((path, why)) = self.current_cause(&mut reason, baseline, changed).await? else {
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
        // Highest expected gain per cost first; the sort is stable, so ties keep their order.
        proposers.sort_by(|one, other| {
            let of =
                |proposer: &dyn Proposer| self.ledger.tracks.expected_gain_per_cost(proposer.name(), price);
            of(&**other).total_cmp(&of(&**one))
        });
        let mut ended = Ok(());
        'asking: for proposer in &proposers {
            let mut earlier: Vec<RejectedAttempt> = judged.iter().map(attempt).collect();
            let most = judged.len() + proposer.tries();
            for _ in 0..=proposer.retries() {
                let left = self.budget.left();
                let question = ProposalRequest {
                    reason,
                    cause: &why,
                    path: &path,
                    text: &text,
                    earlier: &earlier,
                    left,
                };
                let mut stop = self.stop.clone();
                // An interrupt does not wait for the answer of a model.
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
                    tracing::warn!("proposer {} on {}: {problem}", proposer.name(), reason.section);
                    earlier.push(RejectedAttempt {
                        proposal: None,
                        diff: String::new(),
                        problem: problem.clone(),
                    });
                }
                let is_over = answer.is_over;
                let asking = StepCost { seconds: 0.0, ..answer.cost };
                for proposal in answer.proposals {
                    if judged.len() >= most || self.stop_reason().is_some() {
                        break;
                    }
                    let is_tried = earlier.iter().any(|one| one.proposal.as_ref() == Some(&proposal.id));
                    if self.was_rejected_before(&proposal) || is_tried {
                        continue;
                    }
                    let judging =
                        info_span!("judge", proposal = %proposal.id, section = reason.section, kept = Empty);
                    match self
                        .judge(proposal, &asking, reason, baseline, suites)
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
                if is_over || judged.len() >= most || self.stop_reason().is_some() {
                    break;
                }
            }
        }
        self.proposers = proposers;
        ended.map(|()| (judged, kept))
    }

    /// Whether the same diff was rejected before: the verdict would be the same.
    fn was_rejected_before(&self, proposal: &Proposal) -> bool {
        self.ledger.rejected.contains(&proposal.id)
    }

    /// Checks whether a cause still applies: the file to change and the current cause, or `None` if a patch kept
    /// earlier in this cycle fixed the failure.
    async fn current_cause(
        &self,
        reason: &mut RankedCause,
        baseline: &CodeBaseline,
        changed: &BTreeSet<String>,
    ) -> Result<Option<(String, Cause)>, EngineError> {
        let is_it = |target: &&CallableSection| target.name() == reason.section;
        let target = baseline.targets.iter().find(is_it);
        let Some(first) = reason.shown.first_mut() else {
            let (module, section) = reason.section.split_once(':').unwrap_or((&reason.section, "<module>"));
            let found = baseline.scan.inventory.modules.iter().find(|one| one.name == module);
            return Ok(found.map(|module| (module.path.clone(), Cause::Review(section.to_owned()))));
        };
        let Some(target) = target else { return Ok(None) };
        if changed.contains(&target.module) {
            let calls = std::slice::from_ref(&first.call);
            let scheduler = CallScheduler::new(&baseline.executor, self.workbench.parallel());
            let outcomes = scheduler.make_calls(calls).await?;
            let Some(outcome) = outcomes.into_iter().find(|outcome| outcome.verdict.kind.is_failure()) else {
                return Ok(None);
            };
            first.seen = outcome.verdict;
        }
        let (path, why) = cause_of_call(target, &first.call, &first.seen);
        let is_ours = baseline.scan.inventory.modules.iter().any(|module| module.path == path);
        Ok(Some(if is_ours { (path, why) } else { (target.path.clone(), why) }))
    }
}

/// A rejected proposal as shown in later requests for the same cause.
fn attempt(judged: &JudgedProposal) -> RejectedAttempt {
    RejectedAttempt {
        proposal: Some(judged.proposal.id.clone()),
        diff: judged.proposal.diff.clone(),
        problem: judged.verdict.reason().unwrap_or_else(|| "verification did not finish".into()),
    }
}
