//! Reasons to stop a run.

use std::fmt;

use menace_engine::budget::BudgetStop;
use menace_engine::cycle::JudgedProposal;
use menace_runner::RunReport;
use menace_tracker::convergence::{ProposalYield, next_cycle_gain};

use crate::AppContext;
use crate::text::count;

/// Reason why a run stopped.
#[derive(Debug, Clone, PartialEq)]
pub enum RunStopReason {
    /// The user interrupted it.
    Interrupted,
    /// A limit of the budget is reached.
    Budget(BudgetStop),
    /// Another cycle is not worth its cost.
    Converged(ConvergenceReason),
    /// The requested number of cycles is complete.
    CycleLimit(usize),
}

/// Reason why another cycle is not worth its cost.
#[derive(Debug, Clone, PartialEq)]
pub enum ConvergenceReason {
    /// No module is expected to improve.
    AllModulesComplete,
    /// The proposers have no proposals left.
    NoProposals,
    /// The last cycle kept no proposal, and the next one would have the same proposals.
    NothingKept {
        /// Proposals of the last cycle.
        proposals: usize,
    },
    /// The cost of a cycle exceeds the best gain that a patch could have.
    CostExceedsGain {
        /// Cost of a cycle.
        cost: f64,
        /// Upper bound of the gain of one patch.
        best_gain: f64,
    },
}

impl fmt::Display for RunStopReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => formatter.write_str("interrupted"),
            Self::Budget(reason) => write!(formatter, "budget: {reason}"),
            Self::Converged(reason) => reason.fmt(formatter),
            Self::CycleLimit(cycles) => {
                write!(formatter, "{} completed, as requested", count(*cycles, "cycle"))
            }
        }
    }
}

impl fmt::Display for ConvergenceReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllModulesComplete => formatter.write_str("all modules are complete"),
            Self::NoProposals => formatter.write_str("no proposals left"),
            Self::NothingKept { proposals } => write!(
                formatter,
                "none of the last {} was kept, and the next cycle would have the same",
                count(*proposals, "proposal")
            ),
            Self::CostExceedsGain { cost, best_gain } => {
                write!(
                    formatter,
                    "another cycle would cost {cost:.4} for a gain of at most {best_gain:.4} per patch"
                )
            }
        }
    }
}

/// Measurements and verdicts of a cycle.
pub(super) struct FinishedCycle<'a> {
    pub(super) report: &'a RunReport,
    pub(super) judged: &'a [JudgedProposal],
    pub(super) converged: bool,
    pub(super) seconds: f64,
}

/// Reason why another cycle is not worth its cost, if it is not.
pub(super) fn convergence_reason(
    context: &AppContext,
    cycles: &[FinishedCycle<'_>],
) -> Option<ConvergenceReason> {
    let last = cycles.last()?;
    if last.converged {
        return Some(ConvergenceReason::AllModulesComplete);
    }
    let kept = |cycle: &FinishedCycle<'_>| cycle.judged.iter().filter(|one| one.verdict.kept).count() as u64;
    if last.judged.is_empty() {
        return Some(ConvergenceReason::NoProposals);
    }
    let roi = &context.settings().roi;
    // Upper bound of the gain of one patch: the most frequent failure no longer occurs, over the calls of one run.
    let most = last.report.failures.iter().map(|failure| failure.count).max().unwrap_or(0);
    let best_gain = most as f64 * roi.value_per_call;
    // A cycle costs CPU time of all cores of this machine.
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
    let cost = last.seconds * cores * roi.price_per_cpu_second;
    let prospect = ProposalYield {
        tried: last.judged.len() as u64,
        kept: kept(last),
        best_gain,
        cost,
        each_cycle: last.judged.len() as u64,
    };
    match next_cycle_gain(&prospect) {
        Some(_) if kept(last) == 0 => Some(ConvergenceReason::NothingKept { proposals: last.judged.len() }),
        Some(_) => None,
        None => Some(ConvergenceReason::CostExceedsGain { cost, best_gain }),
    }
}
