//! State of a patch, and decisions of users about it.

use serde::{Deserialize, Serialize};

/// State of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchState {
    /// Committed.
    Kept,
    /// Not committed.
    Rejected,
    /// Committed, and reverted later.
    Reverted,
}

impl PatchState {
    /// Name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Rejected => "rejected",
            Self::Reverted => "reverted",
        }
    }

    /// The state with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Kept, Self::Rejected, Self::Reverted].into_iter().find(|state| state.name() == name)
    }
}

/// Decision of a user about a patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchDecision {
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// State that the user chose.
    pub state: PatchState,
    /// Reason of the user.
    pub reason: String,
    /// Where the decision was made.
    pub by: String,
}
