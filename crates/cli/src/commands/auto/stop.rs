//! When it is enough.

use std::fmt;

use menace_engine::budget::BudgetStop;
use menace_engine::cycle::JudgedProposal;
use menace_runner::RunReport;
use menace_tracker::convergence::{ProposalYield, next_cycle_gain};

use crate::configuration::Configuration;

/// Why a loop ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RunStopReason {
    /// Its user wants it to.
    Interrupted,
    /// A limit is reached.
    Budget(BudgetStop),
    /// More is not worth its cost.
    Enough(String),
    /// As many cycles as were wanted.
    Cycles(usize),
}

impl fmt::Display for RunStopReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => formatter.write_str("its user ended it"),
            Self::Budget(reason) => write!(formatter, "the budget: {reason}"),
            Self::Enough(reason) => formatter.write_str(reason),
            Self::Cycles(count) => write!(formatter, "{count} cycles were wanted"),
        }
    }
}

/// What a cycle measured and proposed.
pub(super) struct FinishedCycle<'a> {
    pub(super) report: &'a RunReport,
    pub(super) judged: &'a [JudgedProposal],
    pub(super) converged: bool,
    pub(super) seconds: f64,
}

/// Why another cycle is not worth it, if it is not.
pub(super) fn convergence_reason(
    configuration: &Configuration,
    cycles: &[FinishedCycle<'_>],
) -> Option<String> {
    let last = cycles.last()?;
    if last.converged {
        return Some("every module is complete".into());
    }
    let kept = |cycle: &FinishedCycle<'_>| cycle.judged.iter().filter(|one| one.verdict.kept).count() as u64;
    if last.judged.is_empty() {
        return Some("nobody has anything left to propose".into());
    }
    let roi = &configuration.settings().roi;
    // The most that one change could bring: nothing fails any more in the way that fails most, over as many calls as a run makes.
    let most = last.report.failures.iter().map(|failure| failure.count).max().unwrap_or(0);
    let best_gain = most as f64 * roi.value_per_call;
    // What a cycle takes is CPU time of this machine, all of its cores.
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
        Some(_) if kept(last) == 0 => Some(format!(
            "none of the last {} proposals was kept, and the next cycle would have the same",
            last.judged.len()
        )),
        Some(_) => None,
        None => Some(format!(
            "another cycle would cost {cost:.4}, and bring at most {best_gain:.4} for each change"
        )),
    }
}
