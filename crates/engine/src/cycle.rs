//! One cycle: for each reason to change something, ask for proposals, prove them, keep or reject.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use menace_model::ids::RunId;
use menace_runner::{RunReport, Target, make_calls};
use menace_store::{PatchRecord, PatchState, Store};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::alignment::Rules;
use crate::budget::{Budget, Cost};
use crate::causes::{Reason, cause, reasons};
use crate::events::{Bus, Event};
use crate::memory::{Interaction, Memory, Tag};
use crate::message::message;
use crate::proposal::Proposal;
use crate::proposers::{Attempt, Proposer, Question};
use crate::scores::Scores;
use crate::tracks::Tracks;
use crate::transforms::Cause;
use crate::tree::Worktree;
use crate::verify::{Suites, Verdict, Verifier};
use crate::workbench::{Calls, EngineError, Ground, Workbench};

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

/// Figures of a patch that count against it.
const COSTS: [&str; 1] = ["complexity"];

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
}

/// What is known of proposals.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Rows of this run, by number: it goes on where it ended.
    of_run: BTreeMap<u64, PatchRecord>,
    /// Proposals that were rejected before, in this run or another.
    rejected: BTreeSet<String>,
    /// The number of the next.
    next: u64,
    /// How many were compared since one was kept.
    compared: u64,
    /// What patches are compared with.
    figures: Vec<BTreeMap<String, f64>>,
    /// What became of what each proposer said.
    tracks: Tracks,
}

impl Ledger {
    /// What the store knows of a repository. Rows of cycles before this one are done with.
    pub async fn read(store: &Store, repository: &str, run: &RunId, next: u64) -> Result<Self, EngineError> {
        let mut ledger = Self { next, ..Self::default() };
        for record in store.patches_of(repository).await? {
            if record.run == *run {
                if record.number < next {
                    ledger.note(&record);
                }
                ledger.of_run.insert(record.number, record);
            } else {
                ledger.figures.extend(figures(&record));
                ledger.tracks.note(&record);
                if record.state == PatchState::Rejected {
                    ledger.rejected.insert(record.proposal);
                }
            }
        }
        Ok(ledger)
    }

    /// How many proposals there were.
    pub fn next(&self) -> u64 {
        self.next
    }

    fn note(&mut self, record: &PatchRecord) {
        let was_compared = record.verdict["was_compared"] == true;
        self.compared = match record.state {
            PatchState::Kept | PatchState::Reverted => 0,
            PatchState::Rejected => self.compared + u64::from(was_compared),
        };
        if record.state == PatchState::Rejected {
            self.rejected.insert(record.proposal.clone());
        }
        self.figures.extend(figures(record));
        self.tracks.note(record);
    }

    /// What came of the next proposal, if this run has looked at it before.
    fn known(&self, proposal: &Proposal) -> Option<(Verdict, Cost)> {
        let record = self.of_run.get(&self.next).filter(|record| record.proposal == proposal.id)?;
        let verdict = serde_json::from_value(record.verdict.clone()).ok()?;
        Some((verdict, serde_json::from_value(record.cost.clone()).unwrap_or_default()))
    }
}

impl Improver<'_> {
    /// Looks at everything that a run saw. `ranking` says what modules are worth, by path.
    pub async fn cycle(
        &mut self,
        report: &RunReport,
        ranking: &BTreeMap<String, f64>,
    ) -> Result<CycleEnd, EngineError> {
        let mut ground = self.ground().await?;
        let suites = Suites::of(self.workbench, &ground.scan.inventory).await?;
        let mut end = CycleEnd::default();
        for reason in reasons(report, &ground.scan.inventory, ranking) {
            end.refusal = self.refusal();
            if end.refusal.is_some() {
                break;
            }
            let judged = self.look_at(&reason, &ground, &suites).await?;
            let is_changed = judged.iter().any(|one| one.verdict.kept);
            end.judged.extend(judged);
            if is_changed {
                ground = self.ground().await?;
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

    /// Asks everybody about one reason until something is kept.
    async fn look_at(
        &mut self,
        reason: &Reason,
        ground: &Ground,
        suites: &Suites,
    ) -> Result<Vec<Judged>, EngineError> {
        let mut judged: Vec<Judged> = Vec::new();
        let Some((path, why)) = self.still(reason, ground).await? else { return Ok(judged) };
        if self.left_alone.contains(&path) {
            return Ok(judged);
        }
        let Ok(text) = std::fs::read_to_string(self.tree.root().join(&path)) else { return Ok(judged) };
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
                let asked = tokio::select! {
                    answer = proposer.propose(&question) => answer,
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
                    match self.judge(proposal, &asking, reason, ground, suites).await {
                        Ok(one) => judged.push(one),
                        Err(error) => {
                            ended = Err(error);
                            break 'asking;
                        }
                    }
                    if judged.last().is_some_and(|one| one.verdict.kept) {
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
        ended.map(|()| judged)
    }

    /// Rejected before for this very text: it would be again.
    fn is_known_to_be_bad(&self, proposal: &Proposal) -> bool {
        self.ledger.rejected.contains(&proposal.id)
    }

    /// Whether what was seen can still be seen, where, and why: earlier changes may have mended or moved it.
    async fn still(&self, reason: &Reason, ground: &Ground) -> Result<Option<(String, Cause)>, EngineError> {
        let is_it = |target: &&Target| target.name() == reason.section;
        let target = ground.targets.iter().find(is_it);
        let Some(first) = reason.shown.first() else {
            let (module, section) = reason.section.split_once(':').unwrap_or((&reason.section, "<module>"));
            let found = ground.scan.inventory.modules.iter().find(|one| one.name == module);
            return Ok(found.map(|module| (module.path.clone(), Cause::Review(section.to_owned()))));
        };
        let Some(target) = target else { return Ok(None) };
        let calls = std::slice::from_ref(&first.call);
        let outcomes = make_calls(&ground.executor, calls, self.workbench.parallel()).await?;
        let Some(outcome) = outcomes.first().filter(|outcome| outcome.verdict.kind.is_failure()) else {
            return Ok(None);
        };
        let (path, why) = cause(target, &first.call, outcome);
        let is_ours = ground.scan.inventory.modules.iter().any(|module| module.path == path);
        Ok(Some(if is_ours { (path, why) } else { (target.path.clone(), why) }))
    }

    /// Proves a proposal, writes it down, and commits it if it is kept. `asking` is what it cost to get it.
    async fn judge(
        &mut self,
        proposal: Proposal,
        asking: &Cost,
        reason: &Reason,
        ground: &Ground,
        suites: &Suites,
    ) -> Result<Judged, EngineError> {
        self.bus.tell(Event::proposed(&proposal), (self.now_ms)()).await?;
        let known = self.ledger.known(&proposal);
        let is_known = known.is_some();
        let (verdict, cost) = if let Some(known) = known {
            known
        } else {
            let (mut verdict, proving) = self.prove(&proposal, reason, ground, suites).await?;
            verdict.score = menace_tracker::composite_score(&verdict.figures, &self.ledger.figures, &COSTS);
            (verdict, proving.and(asking))
        };
        // What asking cost was spent when it was asked.
        self.budget.spend(&Cost { seconds: cost.seconds, money: Some(0.0), ..Cost::default() });
        let mut record = self.record(&proposal, &verdict, &cost)?;
        self.store.record_patch(&record).await?;
        if verdict.kept {
            record.commit = Some(self.commit(&proposal, &verdict).await?);
            self.store.record_patch(&record).await?;
            self.flag(&proposal, &verdict).await?;
        }
        if !is_known {
            self.scores.share(&record).await;
            self.remember(&proposal, &verdict).await;
        }
        self.ledger.note(&record);
        self.ledger.next += 1;
        self.bus.tell(Event::judged(&proposal, &verdict), (self.now_ms)()).await?;
        Ok(Judged { proposal, verdict, cost, commit: record.commit })
    }

    /// Commits a change with the test that goes with it.
    async fn commit(&self, proposal: &Proposal, verdict: &Verdict) -> Result<String, EngineError> {
        let mut files = proposal.files.clone();
        files.extend(verdict.regression.iter().map(|test| (test.path.clone(), test.text.clone())));
        self.tree.commit(&files, &message(proposal, verdict)).await
    }

    /// Remembers what helped, and what a model should not say again.
    async fn remember(&self, proposal: &Proposal, verdict: &Verdict) {
        let is_of_model = proposal.proposer.starts_with("llm:");
        let (tag, response) = match verdict.reason() {
            None if verdict.kept => (Tag::ErrorFix, format!("{}\n{}", proposal.why, proposal.diff)),
            Some(reason) if is_of_model => (Tag::Feedback, format!("not kept: {reason}\n{}", proposal.diff)),
            _ => return,
        };
        let interaction = Interaction {
            tag,
            repository: self.repository.clone(),
            section: proposal.section.clone(),
            prompt: format!("{}: {}", proposal.section, proposal.cause),
            response,
        };
        if let Err(error) = self.memory.log(&interaction, (self.now_ms)(), Some(self.bus)).await {
            tracing::warn!("{} is not remembered: {error}", proposal.id);
        }
    }

    /// Tells what a reviewer would remark about a change that is kept.
    async fn flag(&self, proposal: &Proposal, verdict: &Verdict) -> Result<(), EngineError> {
        if !self.alignment.enabled {
            return Ok(());
        }
        let mut found = verdict.alignment.clone();
        if verdict.regression.is_none() {
            found.warn("missing_tests", format!("no test goes with the change of {}", proposal.section));
        }
        self.alignment.note(&self.run, proposal, &found, (self.now_ms)())?;
        for flag in found.flags {
            let event = Event::AlignmentFlag {
                proposal: proposal.id.clone(),
                rule: flag.rule,
                message: flag.message,
            };
            self.bus.tell(event, (self.now_ms)()).await?;
        }
        Ok(())
    }

    async fn prove(
        &self,
        proposal: &Proposal,
        reason: &Reason,
        ground: &Ground,
        suites: &Suites,
    ) -> Result<(Verdict, Cost), EngineError> {
        let verifier = Verifier {
            workbench: self.workbench,
            ground,
            root: self.tree.root(),
            calls: &self.calls,
            suites,
            seed: self.options.seed,
            margin: self.options.margin,
            allow_behaviour_change: self.options.allow_behaviour_change,
            alignment: &self.alignment,
            compared: self.ledger.compared,
        };
        let began = Instant::now();
        let verdict = verifier.verify(proposal, &reason.shown).await?;
        let seconds = began.elapsed().as_secs_f64();
        let cost = Cost { seconds, cpu_seconds: verdict.cpu_seconds, money: Some(0.0), ..Cost::default() };
        Ok((verdict, cost))
    }

    fn record(
        &self,
        proposal: &Proposal,
        verdict: &Verdict,
        cost: &Cost,
    ) -> Result<PatchRecord, EngineError> {
        let json = |value: Result<serde_json::Value, serde_json::Error>| {
            value.map_err(|error| EngineError::Scan(format!("a proposal cannot be written down: {error}")))
        };
        Ok(PatchRecord {
            run: self.run.clone(),
            number: self.ledger.next,
            proposal: proposal.id.clone(),
            repository: self.repository.clone(),
            section: proposal.section.clone(),
            proposer: proposal.proposer.clone(),
            state: if verdict.kept { PatchState::Kept } else { PatchState::Rejected },
            at_ms: (self.now_ms)(),
            detail: json(serde_json::to_value(proposal))?,
            verdict: json(serde_json::to_value(verdict))?,
            cost: json(serde_json::to_value(cost))?,
            commit: None,
        })
    }
}

/// What a patch of the ledger is compared by.
fn figures(record: &PatchRecord) -> Option<BTreeMap<String, f64>> {
    serde_json::from_value(record.verdict["figures"].clone()).ok()
}

/// What a later question is told about something that is not kept.
fn attempt(judged: &Judged) -> Attempt {
    Attempt {
        proposal: Some(judged.proposal.id.clone()),
        diff: judged.proposal.diff.clone(),
        problem: judged.verdict.reason().unwrap_or_else(|| "it could not be looked at to the end".into()),
    }
}
