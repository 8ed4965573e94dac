//! Generation of regression tests: a test is kept only if it fails without the change and passes with it.

use std::collections::BTreeMap;
use std::time::Duration;

use menace_model::calls::OutcomeKind;
use menace_runner::{TestFileOutcome, TestOutcome, regression_test_of};

use super::paired_calls::PairedCall;
use super::{ProposalVerifier, ReproducingCall};
use crate::proposal::Proposal;
use crate::workbench::EngineError;
use crate::worktree::Candidate;
use menace_model::patches::RegressionTest;

/// Time limit of a test: longer than that of any call, so that a test sees the timeout of its call.
const LONGEST: Duration = Duration::from_mins(1);

/// Generates the test and runs it on the baseline and the candidate. `again` is the failing call with its outcomes on
/// both sides.
pub(super) async fn generate_regression_test(
    verifier: &ProposalVerifier<'_>,
    proposal: &Proposal,
    shown: &[ReproducingCall],
    again: &[PairedCall],
) -> Result<Option<RegressionTest>, EngineError> {
    let (Some(first), Some(pair)) = (shown.first(), again.first()) else { return Ok(None) };
    let after = &pair.after.verdict;
    let refused = match after.kind {
        OutcomeKind::Ok => None,
        OutcomeKind::Rejected => after.facts.as_ref().map(|facts| facts.exception.as_str()),
        _ => return Ok(None),
    };
    let Some(text) = regression_test_of(&first.call, first.seen.kind, &proposal.cause, refused) else {
        return Ok(None);
    };
    let path = path(verifier, proposal);
    let alone = BTreeMap::from([(path.clone(), text.clone())]);
    let mut with_change = proposal.files.clone();
    with_change.extend(alone.clone());
    let (without, with) = tokio::join!(
        run_single_test(verifier, &alone, &path),
        run_single_test(verifier, &with_change, &path)
    );
    let is_proof = without? == Some(TestOutcome::Failed) && with? == Some(TestOutcome::Passed);
    Ok(is_proof.then_some(RegressionTest { path, text }))
}

/// Result of the only test of a file, on the baseline with `files` added.
async fn run_single_test(
    verifier: &ProposalVerifier<'_>,
    files: &BTreeMap<String, String>,
    path: &str,
) -> Result<Option<TestOutcome>, EngineError> {
    let candidate = Candidate::of(verifier.root, verifier.scratch, files)?;
    let scan = verifier.workbench.scan(candidate.root())?;
    let outcomes = verifier.workbench.tests(&scan.inventory, &[path.to_owned()], (1, LONGEST)).await?;
    Ok(match &outcomes[..] {
        [TestFileOutcome::Ran { cases }] => match &cases[..] {
            [only] => Some(only.kind),
            _ => None,
        },
        _ => None,
    })
}

/// Path of the test, in the existing directory of tests.
fn path(verifier: &ProposalVerifier<'_>, proposal: &Proposal) -> String {
    let directory = ["tests", "test"].into_iter().find(|name| verifier.root.join(name).is_dir());
    let name: String = proposal
        .section
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' })
        .collect();
    let id = proposal.id.trim_start_matches("p_");
    format!("{}/test_menace_{name}_{}.py", directory.unwrap_or("tests"), id.get(..6).unwrap_or(id))
}
