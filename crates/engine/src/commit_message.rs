//! Message of the commit of a kept patch: the change, its cause, and the measurements of all conditions.

use std::fmt::Write as _;

use crate::proposal::Proposal;
use crate::verify::Verdict;

/// Maximum length of the first line, in characters.
const LONGEST: usize = 72;

/// Formats the commit message of a kept patch.
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
    let _ = write!(text, "\n\nCause: {}\n", proposal.cause);
    for condition in &verdict.conditions {
        let _ = write!(text, "\n{}. {}: {}", condition.number, condition.name, condition.figure);
    }
    for (scenario, (before, after, n)) in &verdict.scenarios {
        let _ = write!(text, "\n   {scenario}: {before:.3} → {after:.3} over {n} calls");
    }
    let _ = write!(text, "\n\nMenace-Patch: {}\nMenace-Proposer: {}\n", proposal.id, proposal.proposer);
    text
}
