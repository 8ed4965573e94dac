//! Decision about one proposal: verify it, record it in the ledger, commit it if it is kept, and store a memory of it.

use std::time::Instant;

use menace_store::{PatchRecord, PatchState};

use crate::baseline::{CodeBaseline, PromotedCandidate};
use crate::budget::StepCost;
use crate::causes::RankedCause;
use crate::commit_message::message;
use crate::cycle::{CycleRunner, JudgedProposal};
use crate::events::RunEvent;
use crate::memory::{MemoryTag, PromptInteraction};
use crate::proposal::Proposal;
use crate::verify::{BaselineSuites, ProposalVerifier, Verdict};
use crate::workbench::EngineError;
use crate::worktree::Candidate;

/// Measurements of a patch that count against it.
const COSTS: [&str; 1] = ["complexity"];

impl CycleRunner<'_> {
    /// Verifies a proposal, records it, and commits it if it is kept. `asking` is the cost of the request to the proposer.
    pub(crate) async fn judge(
        &mut self,
        proposal: Proposal,
        asking: &StepCost,
        reason: &RankedCause,
        baseline: &CodeBaseline,
        suites: &BaselineSuites,
    ) -> Result<(JudgedProposal, Option<PromotedCandidate>), EngineError> {
        self.bus.publish(RunEvent::proposed(&proposal), (self.now_ms)()).await?;
        let known = self.ledger.known_verdict(&proposal);
        let is_known = known.is_some();
        let (verdict, promoted, cost) = if let Some((verdict, cost)) = known {
            let promoted = if verdict.kept { Some(self.promoted(&proposal).await?) } else { None };
            (verdict, promoted, cost)
        } else {
            let (mut verdict, promoted, verifying) = self.verify(&proposal, reason, baseline, suites).await?;
            verdict.score = menace_tracker::composite_score(&verdict.figures, &self.ledger.figures, &COSTS);
            (verdict, promoted, verifying.plus(asking))
        };
        // The cost of asking was added to the budget when the proposer answered.
        self.budget.spend(&StepCost { seconds: cost.seconds, money: Some(0.0), ..StepCost::default() });
        let mut record = self.record(&proposal, &verdict, &cost);
        self.store.record_patch(&record).await?;
        if verdict.kept {
            record.commit = Some(self.commit(&proposal, &verdict).await?);
            self.store.record_patch(&record).await?;
            self.flag(&proposal, &verdict).await?;
        }
        if !is_known {
            self.scores.share(&record).await;
            self.store_memory(&proposal, &verdict).await;
        }
        self.ledger.add_record(&record);
        self.ledger.next += 1;
        self.bus.publish(RunEvent::judged(&proposal, &verdict), (self.now_ms)()).await?;
        Ok((JudgedProposal { proposal, verdict, cost, commit: record.commit }, promoted))
    }

    /// Rebuilds the candidate of a proposal that was kept before the run was resumed.
    async fn promoted(&self, proposal: &Proposal) -> Result<PromotedCandidate, EngineError> {
        let candidate = Candidate::of(self.tree.root(), &self.tree.scratch(), &proposal.files)?;
        let scan = self.workbench.scan(candidate.root())?;
        let executor = self.workbench.executor(&scan.inventory).await?;
        Ok(PromotedCandidate { candidate, scan, executor })
    }

    /// Commits a change together with its regression test.
    async fn commit(&self, proposal: &Proposal, verdict: &Verdict) -> Result<String, EngineError> {
        let mut files = proposal.files.clone();
        files.extend(verdict.regression.iter().map(|test| (test.path.clone(), test.text.clone())));
        self.tree.commit(&files, &message(proposal, verdict)).await
    }

    /// Stores a memory of kept patches, and of rejected ones if a model proposed them.
    async fn store_memory(&self, proposal: &Proposal, verdict: &Verdict) {
        let is_of_model = proposal.proposer.starts_with("llm:");
        let (tag, response) = match verdict.reason() {
            None if verdict.kept => (MemoryTag::ErrorFix, format!("{}\n{}", proposal.why, proposal.diff)),
            Some(reason) if is_of_model => {
                (MemoryTag::Feedback, format!("rejected: {reason}\n{}", proposal.diff))
            }
            _ => return,
        };
        let interaction = PromptInteraction {
            tag,
            repository: self.repository.clone(),
            section: proposal.section.clone(),
            prompt: format!("{}: {}", proposal.section, proposal.cause),
            response,
        };
        if let Err(error) = self.memory.log(&interaction, (self.now_ms)(), Some(self.bus)).await {
            tracing::warn!("failed to store a memory of {}: {error}", proposal.id);
        }
    }

    /// Publishes the alignment flags of a kept patch.
    async fn flag(&self, proposal: &Proposal, verdict: &Verdict) -> Result<(), EngineError> {
        if !self.alignment.enabled {
            return Ok(());
        }
        let mut found = verdict.alignment.clone();
        if verdict.regression.is_none() {
            found.warn("missing_tests", format!("no regression test for the change of {}", proposal.section));
        }
        self.alignment.note(&self.run, proposal, &found, (self.now_ms)())?;
        for flag in found.flags {
            let event = RunEvent::AlignmentFlag {
                proposal: proposal.id.clone(),
                rule: flag.rule,
                message: flag.message,
            };
            self.bus.publish(event, (self.now_ms)()).await?;
        }
        Ok(())
    }

    async fn verify(
        &self,
        proposal: &Proposal,
        reason: &RankedCause,
        baseline: &CodeBaseline,
        suites: &BaselineSuites,
    ) -> Result<(Verdict, Option<PromotedCandidate>, StepCost), EngineError> {
        let scratch = self.tree.scratch();
        let verifier = ProposalVerifier {
            workbench: self.workbench,
            ground: baseline,
            root: self.tree.root(),
            scratch: &scratch,
            calls: &self.calls,
            suites,
            seed: self.options.seed,
            margin: self.options.margin,
            allow_behaviour_change: self.options.allow_behaviour_change,
            alignment: &self.alignment,
            compared: self.ledger.compared,
        };
        let began = Instant::now();
        let (verdict, promoted) = verifier.verify(proposal, &reason.shown).await?;
        let seconds = began.elapsed().as_secs_f64();
        let cost =
            StepCost { seconds, cpu_seconds: verdict.cpu_seconds, money: Some(0.0), ..StepCost::default() };
        Ok((verdict, promoted, cost))
    }

    fn record(&self, proposal: &Proposal, verdict: &Verdict, cost: &StepCost) -> PatchRecord {
        PatchRecord {
            run: self.run.clone(),
            number: self.ledger.next,
            proposal: proposal.id.clone(),
            repository: self.repository.clone(),
            section: proposal.section.clone(),
            proposer: proposal.proposer.clone(),
            state: if verdict.kept { PatchState::Kept } else { PatchState::Rejected },
            at_ms: (self.now_ms)(),
            detail: proposal.into(),
            verdict: verdict.clone().into(),
            cost: *cost,
            commit: None,
        }
    }
}
