//! Who proposes changes.

mod built_in;
pub mod llm;

pub use built_in::BuiltIn;

use async_trait::async_trait;

use crate::budget::{Cost, Left};
use crate::causes::Reason;
use crate::proposal::Proposal;
use crate::transforms::Cause;
use crate::workbench::EngineError;

/// What somebody is asked to change, and why.
pub struct Question<'a> {
    /// What was seen in the run.
    pub reason: &'a Reason,
    /// What was seen just now.
    pub cause: &'a Cause,
    /// The file in which something has to be changed.
    pub path: &'a str,
    /// What is in it.
    pub text: &'a str,
    /// What was tried before because of this, and what came of it.
    pub earlier: &'a [Attempt],
    /// What may still be spent.
    pub left: Left,
}

/// Something that was tried and is not kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// The name of the proposal, if it was one.
    pub proposal: Option<String>,
    /// The change; empty if it was none.
    pub diff: String,
    /// Why it is not kept: the condition with its figure, or why it was no change.
    pub problem: String,
}

/// What somebody proposes, the best first, and what asking cost.
#[derive(Debug, Default)]
pub struct Answer {
    /// Changes.
    pub proposals: Vec<Proposal>,
    /// What it cost to ask.
    pub cost: Cost,
    /// What went wrong with asking, or what is wrong with the answer.
    pub problem: Option<String>,
    /// Asking again about this would be of no use.
    pub is_over: bool,
}

/// Somebody who proposes changes.
#[async_trait]
pub trait Proposer: Send + Sync {
    /// What it is called.
    fn name(&self) -> &'static str;
    /// How many of its proposals about one thing are looked at.
    fn tries(&self) -> usize;
    /// How often it may be asked again about one thing, knowing what came of its last answer.
    fn retries(&self) -> usize;
    /// What it would change.
    async fn propose(&self, question: &Question<'_>) -> Result<Answer, EngineError>;
}

/// Somebody who remembers what helped before.
#[async_trait]
pub trait Recall: Send + Sync {
    /// What is relevant for something that was seen, the most first.
    async fn relevant(&self, seen: &str, most: usize) -> Vec<String>;
}
