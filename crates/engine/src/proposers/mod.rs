//! Proposers: the built-in transforms and language models.

mod built_in;
pub mod llm;

pub use built_in::BuiltInProposer;

use async_trait::async_trait;

use crate::budget::{RemainingBudget, StepCost};
use crate::causes::RankedCause;
use crate::proposal::Proposal;
use crate::transforms::Cause;
use crate::workbench::EngineError;

/// Request to a proposer: the code to change and the cause.
pub struct ProposalRequest<'a> {
    /// Cause as ranked by the cycle.
    pub reason: &'a RankedCause,
    /// Cause as observed on the current baseline.
    pub cause: &'a Cause,
    /// File to change.
    pub path: &'a str,
    /// Text of the file.
    pub text: &'a str,
    /// Rejected attempts for the same cause.
    pub earlier: &'a [RejectedAttempt],
    /// Remaining budget for models.
    pub left: RemainingBudget,
}

/// A rejected attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct RejectedAttempt {
    /// Id of the proposal; `None` if the answer was not a valid change.
    pub proposal: Option<String>,
    /// Diff; empty if the answer was not a valid change.
    pub diff: String,
    /// Reason of the rejection: the condition that was not met, or the error in the answer.
    pub problem: String,
}

/// Proposals of a proposer, the best first, and the cost of asking.
#[derive(Debug, Default)]
pub struct ProposerAnswer {
    /// Proposals.
    pub proposals: Vec<Proposal>,
    /// Cost of the request.
    pub cost: StepCost,
    /// Error of the request or in the answer.
    pub problem: Option<String>,
    /// Whether asking again about this cause is useless.
    pub is_over: bool,
}

/// A source of proposals.
#[async_trait]
pub trait Proposer: Send + Sync {
    /// Name of the proposer.
    fn name(&self) -> &'static str;
    /// Maximum number of its proposals that are verified per cause.
    fn tries(&self) -> usize;
    /// Maximum number of follow-up requests per cause, each with the rejections so far.
    fn retries(&self) -> usize;
    /// Proposes changes for a cause.
    async fn propose(&self, question: &ProposalRequest<'_>) -> Result<ProposerAnswer, EngineError>;
}

/// Search in the memory of earlier patches.
#[async_trait]
pub trait PatchRecall: Send + Sync {
    /// Texts of at most `most` memories relevant to a cause, the best first.
    async fn relevant(&self, seen: &str, most: usize) -> Vec<String>;
}
