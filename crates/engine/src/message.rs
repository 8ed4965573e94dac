//! What a commit says: the change, why, and the figures that it was kept for.

use std::fmt::Write as _;

use crate::proposal::Proposal;
use crate::verify::Verdict;

/// Letters of the first line.
const LONGEST: usize = 72;

/// The message of a commit.
pub(crate) fn message(proposal: &Proposal, verdict: &Verdict) -> String {
    let title = format!("{}: {}", proposal.section, proposal.why);
    let first: String = if title.chars().count() > LONGEST {
        title.chars().take(LONGEST - 1).chain(['…']).collect()
    } else {
        title.clone()
    };
    let mut text = first.clone();
    if first != title {
        let _ = write!(text, "\n\n{}", proposal.why);
    }
    let _ = write!(text, "\n\nSeen: {}\n", proposal.cause);
    for condition in &verdict.conditions {
        let _ = write!(text, "\n{}. {}: {}", condition.number, condition.name, condition.figure);
    }
    for (scenario, (before, after, n)) in &verdict.scenarios {
        let _ = write!(text, "\n   {scenario}: {before:.3} → {after:.3} of {n} calls");
    }
    let _ = write!(text, "\n\nMenace-Patch: {}\nMenace-Proposer: {}\n", proposal.id, proposal.proposer);
    text
}
