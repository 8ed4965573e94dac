//! Proposals: diffs with the cause that they answer.

use std::collections::BTreeMap;

use menace_model::patches::PatchDetail;
use serde::{Deserialize, Serialize};
use similar::TextDiff;

use crate::transforms::ProposalGain;

/// A change of files, with its cause and its expected gain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// Hash of the diff without line numbers: the same change of the same lines has the same id anywhere in a file.
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
    pub gain: ProposalGain,
    /// New text of each changed file, by path from the root of the repository.
    pub files: BTreeMap<String, String>,
    /// Unified diff against the baseline.
    pub diff: String,
}

/// Origin and purpose of a proposal.
#[derive(Debug, Clone)]
pub struct ProposalPurpose {
    /// Name of the proposer.
    pub proposer: String,
    /// Section to improve.
    pub section: String,
    /// Cause, in one line.
    pub cause: String,
    /// Description of the change and its reason.
    pub why: String,
    /// Expected improvement.
    pub gain: ProposalGain,
}

impl Proposal {
    /// Creates a proposal from the old and the new text of files.
    pub fn new(
        meant: ProposalPurpose,
        before: &BTreeMap<String, String>,
        files: BTreeMap<String, String>,
    ) -> Self {
        let empty = String::new();
        let diff: String = files
            .iter()
            .map(|(path, after)| unified(path, before.get(path).unwrap_or(&empty), after))
            .collect();
        // The id ignores line numbers, because other patches move lines.
        let mut hasher = blake3::Hasher::new();
        for line in diff.split_inclusive('\n').filter(|line| !line.starts_with("@@")) {
            hasher.update(line.as_bytes());
        }
        let ProposalPurpose { proposer, section, cause, why, gain } = meant;
        let id = format!("p_{}", &hasher.finalize().to_hex()[..16]);
        Self { id, proposer, section, cause, why, gain, files, diff }
    }

    /// Number of added and of removed lines.
    pub fn size(&self) -> (usize, usize) {
        let lines = self.diff.lines().filter(|line| !line.starts_with("+++") && !line.starts_with("---"));
        lines.fold((0, 0), |(added, removed), line| match line.as_bytes().first() {
            Some(b'+') => (added + 1, removed),
            Some(b'-') => (added, removed + 1),
            _ => (added, removed),
        })
    }
}

impl From<&Proposal> for PatchDetail {
    fn from(proposal: &Proposal) -> Self {
        let Proposal { id, proposer, section, cause, why, gain, files, diff } = proposal.clone();
        Self { id, proposer, section, cause, why, gain: Some(gain), files, diff }
    }
}

fn unified(path: &str, before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(after: &str) -> Proposal {
        let meant = ProposalPurpose {
            proposer: "test".into(),
            section: "cart:total".into(),
            cause: "it fails".into(),
            why: "it should not".into(),
            gain: ProposalGain::Robustness,
        };
        let before = BTreeMap::from([("cart.py".to_owned(), "a\nb\nc\n".to_owned())]);
        Proposal::new(meant, &before, BTreeMap::from([("cart.py".to_owned(), after.to_owned())]))
    }

    #[test]
    fn equal_changes_have_equal_ids_and_different_ones_do_not() {
        assert_eq!(proposed("a\nx\nc\n").id, proposed("a\nx\nc\n").id);
        assert_ne!(proposed("a\nx\nc\n").id, proposed("a\ny\nc\n").id);
    }

    #[test]
    fn a_moved_change_keeps_its_id() {
        let of = |before: &str, after: &str| {
            let meant = ProposalPurpose {
                proposer: String::new(),
                section: String::new(),
                cause: String::new(),
                why: String::new(),
                gain: ProposalGain::Robustness,
            };
            let files = |text: &str| BTreeMap::from([("a.py".to_owned(), text.to_owned())]);
            Proposal::new(meant, &files(before), files(after)).id
        };
        let moved = of("new\n1\n2\n3\na\n4\n5\n6\n", "new\n1\n2\n3\nb\n4\n5\n6\n");
        assert_eq!(of("1\n2\n3\na\n4\n5\n6\n", "1\n2\n3\nb\n4\n5\n6\n"), moved);
        assert_ne!(of("1\n2\nx\na\n4\n5\n6\n", "1\n2\nx\nb\n4\n5\n6\n"), moved);
    }

    #[test]
    fn a_change_is_shown_as_a_diff() {
        let made = proposed("a\nx\ny\nc\n");
        assert_eq!(made.diff, "--- a/cart.py\n+++ b/cart.py\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n");
        assert_eq!(made.size(), (2, 1));
    }
}
