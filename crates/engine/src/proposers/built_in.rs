//! Proposer of the built-in transforms, which need no model.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{ProposalRequest, Proposer, ProposerAnswer};
use crate::budget::StepCost;
use crate::editable_source::EditableSource;
use crate::proposal::{Proposal, ProposalPurpose};
use crate::transforms::{Cause, Transform, of_failures, of_review};
use crate::workbench::EngineError;

/// Maximum number of proposals per cause. Transforms are ordered by how specific they are to a failure; later ones
/// rarely fit.
const MOST: usize = 6;

/// Proposer of all built-in transforms.
pub struct BuiltInProposer {
    of_failures: Vec<Box<dyn Transform>>,
    of_review: Vec<Box<dyn Transform>>,
}

impl Default for BuiltInProposer {
    fn default() -> Self {
        Self { of_failures: of_failures(), of_review: of_review() }
    }
}

#[async_trait]
impl Proposer for BuiltInProposer {
    fn name(&self) -> &'static str {
        "transforms"
    }

    fn tries(&self) -> usize {
        MOST
    }

    /// Transforms are deterministic, so asking again is useless.
    fn retries(&self) -> usize {
        0
    }

    async fn propose(&self, question: &ProposalRequest<'_>) -> Result<ProposerAnswer, EngineError> {
        let cost = StepCost { money: Some(0.0), ..StepCost::default() };
        let mut answer = ProposerAnswer { cost, is_over: true, ..ProposerAnswer::default() };
        let Some(source) = EditableSource::parse(question.text) else { return Ok(answer) };
        let before = BTreeMap::from([(question.path.to_owned(), question.text.to_owned())]);
        let transforms = match question.cause {
            Cause::Failure(_) => self.of_failures.iter().chain(&self.of_review),
            Cause::Review(_) => self.of_review.iter().chain(&[]),
        };
        for transform in transforms {
            for rewrite in transform.rewrite(&source, question.cause) {
                let meant = ProposalPurpose {
                    proposer: format!("transform:{}", transform.name()),
                    section: question.reason.section.clone(),
                    cause: question.reason.summary.clone(),
                    why: rewrite.why,
                    gain: rewrite.gain,
                };
                let files = BTreeMap::from([(question.path.to_owned(), rewrite.text)]);
                let proposal = Proposal::new(meant, &before, files);
                if answer.proposals.iter().all(|other| other.id != proposal.id) {
                    answer.proposals.push(proposal);
                }
            }
        }
        Ok(answer)
    }
}
