//! Proposer of the built-in transforms, which need no model.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{Answer, Proposer, Question};
use crate::budget::Cost;
use crate::proposal::{Meant, Proposal};
use crate::source::Source;
use crate::transforms::{Cause, Transform, of_failures, of_review};
use crate::workbench::EngineError;

/// Maximum number of proposals per cause. Transforms are ordered by how specific they are to a failure; later ones
/// rarely fit.
const MOST: usize = 6;

/// Proposer of all built-in transforms.
pub struct BuiltIn {
    of_failures: Vec<Box<dyn Transform>>,
    of_review: Vec<Box<dyn Transform>>,
}

impl Default for BuiltIn {
    fn default() -> Self {
        Self { of_failures: of_failures(), of_review: of_review() }
    }
}

#[async_trait]
impl Proposer for BuiltIn {
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

    async fn propose(&self, question: &Question<'_>) -> Result<Answer, EngineError> {
        let cost = Cost { money: Some(0.0), ..Cost::default() };
        let mut answer = Answer { cost, is_over: true, ..Answer::default() };
        let Some(source) = Source::parse(question.text) else { return Ok(answer) };
        let before = BTreeMap::from([(question.path.to_owned(), question.text.to_owned())]);
        let transforms = match question.cause {
            Cause::Failure(_) => self.of_failures.iter().chain(&self.of_review),
            Cause::Review(_) => self.of_review.iter().chain(&[]),
        };
        for transform in transforms {
            for rewrite in transform.rewrite(&source, question.cause) {
                let meant = Meant {
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
