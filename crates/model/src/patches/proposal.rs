//! The proposal of a patch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Intended improvement of a change, by which it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalGain {
    /// Fewer calls fail.
    Robustness,
    /// Fewer findings of security or lint.
    Findings,
    /// Less time for the same result.
    Speed,
}

/// A proposal as the ledger records it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PatchDetail {
    /// Hash of the diff without line numbers.
    pub id: String,
    /// Proposer and transform or model, such as `transform:divide-by-zero`.
    pub proposer: String,
    /// Section to improve, as `module:qualname`.
    pub section: String,
    /// Cause, in one line.
    pub cause: String,
    /// Description of the change and its reason.
    pub why: String,
    /// Expected improvement.
    pub gain: Option<ProposalGain>,
    /// New text of each changed file, by path from the root of the repository.
    pub files: BTreeMap<String, String>,
    /// Unified diff against the baseline.
    pub diff: String,
}
