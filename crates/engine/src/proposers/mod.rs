//! Proposers: the built-in transforms and language models.

mod built_in;
pub mod llm;

pub use built_in::BuiltIn;

use async_trait::async_trait;

use crate::budget::{Cost, Left};
use crate::causes::Reason;
use crate::proposal::Proposal;
use crate::transforms::Cause;
use crate::workbench::EngineError;

/// Request to a proposer: the code to change and the cause.
pub struct Question<'a> {
    /// Cause as ranked by the cycle.
    pub reason: &'a Reason,
    /// Cause as observed on the current baseline.
    pub cause: &'a Cause,
    /// File to change.
    pub path: &'a str,
    /// Text of the file.
    pub text: &'a str,
    /// Rejected attempts for the same cause.
    pub earlier: &'a [Attempt],
    /// Remaining budget for models.
    pub left: Left,
}

/// A rejected attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// Id of the proposal; `None` if the answer was not a valid change.
    pub proposal: Option<String>,
    /// Diff; empty if the answer was not a valid change.
    pub diff: String,
    /// Reason of the rejection: the condition that was not met, or the error in the answer.
    pub problem: String,
}

/// Proposals of a proposer, the best first, and the cost of asking.
#[derive(Debug, Default)]
pub struct Answer {
    /// Proposals.
    pub proposals: Vec<Proposal>,
    /// Cost of the request.
    pub cost: Cost,
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
    async fn propose(&self, question: &Question<'_>) -> Result<Answer, EngineError>;
}

/// Search in the memory of earlier patches.
#[async_trait]
pub trait Recall: Send + Sync {
    /// Texts of at most `most` memories relevant to a cause, the best first.
    async fn relevant(&self, seen: &str, most: usize) -> Vec<String>;
}
