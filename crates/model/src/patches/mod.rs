//! Patches as the ledger records them: the proposal, the verdict and the cost.
//!
//! Missing fields have defaults, so that the ledger of an older version can be read.

mod alignment;
mod cost;
mod decision;
mod proposal;
mod verdict;

pub use alignment::{Alignment, AlignmentFlag, FlagSeverity};
pub use cost::StepCost;
pub use decision::{PatchDecision, PatchState};
pub use proposal::{PatchDetail, ProposalGain};
pub use verdict::{Condition, ConditionState, PatchVerdict, RegressionTest, Verdict};
