//! Thresholds of the alignment check, its baseline and its journal.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use menace_model::ids::RunId;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::facts::AlignmentFacts;
use super::{Alignment, AlignmentFlag};
use crate::proposal::Proposal;
use crate::workbench::EngineError;

/// Configuration of the alignment check.
#[derive(Debug, Clone, Default)]
pub struct AlignmentRules {
    /// Whether the check is enabled.
    pub enabled: bool,
    /// Score above which a change gets a warning.
    pub warning: f64,
    /// Score above which a change is rejected.
    pub failure: f64,
    /// Counts per file at the start of the run, or from the configured baseline file.
    pub baseline: AlignmentBaseline,
    /// File to which remarks about kept changes are appended.
    pub journal: Option<PathBuf>,
}

/// Classification of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlignmentLevel {
    /// The score is below the warning threshold.
    Fine,
    /// The change should be reviewed.
    AlignmentWarning,
    /// The change is rejected.
    AlignmentFailure,
}

impl AlignmentRules {
    /// Classifies a change by its score.
    pub fn level(&self, alignment: &Alignment) -> AlignmentLevel {
        match alignment.score() {
            score if score > self.failure => AlignmentLevel::AlignmentFailure,
            score if score > self.warning => AlignmentLevel::AlignmentWarning,
            _ => AlignmentLevel::Fine,
        }
    }

    /// Appends the remarks about a kept change to the journal, once per run and proposal.
    pub fn note(
        &self,
        run: &RunId,
        proposal: &Proposal,
        alignment: &Alignment,
        now_ms: i64,
    ) -> Result<(), EngineError> {
        let Some(path) = &self.journal else { return Ok(()) };
        let wrong = |source| EngineError::File { doing: "write", path: path.display().to_string(), source };
        let known = std::fs::read_to_string(path).unwrap_or_default();
        // A resumed run reaches this point a second time.
        let (run, id) = (run.to_string(), &proposal.id);
        if known.lines().any(|line| line.contains(&run) && line.contains(id.as_str())) {
            return Ok(());
        }
        let line = json!({
            "version": 1,
            "at_ms": now_ms,
            "run": run,
            "proposal": id,
            "section": proposal.section,
            "score": alignment.score(),
            "level": self.level(alignment),
            "flags": alignment.flags,
        });
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(wrong)?;
        let separator = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
        file.write_all(format!("{separator}{line}\n").as_bytes())
            .and_then(|()| file.sync_data())
            .map_err(wrong)
    }
}

/// Counts per file, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlignmentBaseline {
    version: u32,
    files: BTreeMap<String, AlignmentCounts>,
}

/// Counts of one file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct AlignmentCounts {
    logging: usize,
    documented: usize,
    branches: usize,
}

impl AlignmentCounts {
    fn of(text: &str) -> Option<Self> {
        let facts = AlignmentFacts::of(text)?;
        let documented = facts.definitions.values().filter(|documented| **documented).count();
        Some(Self { logging: facts.logging, documented, branches: facts.branches })
    }
}

/// Growth of branches over the baseline without a warning: the divisor of the relative part (half), and the absolute part.
const BRANCH_ALLOWANCE: (usize, usize) = (2, 8);

impl AlignmentBaseline {
    /// Counts the files of a directory.
    pub fn of<'a>(root: &Path, paths: impl Iterator<Item = &'a str>) -> Self {
        let counted = |path: &str| AlignmentCounts::of(&std::fs::read_to_string(root.join(path)).ok()?);
        let files = paths.filter_map(|path| Some((path.to_owned(), counted(path)?))).collect();
        Self { version: 1, files }
    }

    /// Reads a baseline file; `None` if it does not exist.
    pub fn read(path: &Path) -> Result<Option<Self>, EngineError> {
        let wrong = |source| EngineError::File { doing: "read", path: path.display().to_string(), source };
        match std::fs::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(wrong(error)),
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| wrong(error.into())),
        }
    }

    /// Compares a change with the baseline, so that many small changes are judged by their sum.
    pub(super) fn remarks(&self, proposal: &Proposal) -> Vec<AlignmentFlag> {
        let mut found = Vec::new();
        for (path, text) in &proposal.files {
            let (Some(base), Some(now)) = (self.files.get(path), AlignmentCounts::of(text)) else { continue };
            let fell = [
                ("logging calls", base.logging, now.logging),
                ("docstrings", base.documented, now.documented),
            ];
            for (what, before, after) in fell.into_iter().filter(|(_, before, after)| after < before) {
                found.push(AlignmentFlag::warning(
                    "below_baseline",
                    format!("{what} in {path}: {before} → {after} since the baseline"),
                ));
            }
            if now.branches > base.branches + base.branches / BRANCH_ALLOWANCE.0 + BRANCH_ALLOWANCE.1 {
                let (before, after) = (base.branches, now.branches);
                found.push(AlignmentFlag::warning(
                    "above_baseline",
                    format!("branches in {path}: {before} → {after} since the baseline"),
                ));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::ProposalPurpose;
    use crate::transforms::ProposalGain;

    fn proposal(after: &str) -> Proposal {
        let meant = ProposalPurpose {
            proposer: "test".into(),
            section: "a:f".into(),
            cause: String::new(),
            why: String::new(),
            gain: ProposalGain::Robustness,
        };
        let files = |text: &str| BTreeMap::from([("a.py".to_owned(), text.to_owned())]);
        Proposal::new(meant, &files("x = 1\n"), files(after))
    }

    fn rules(journal: Option<PathBuf>) -> AlignmentRules {
        AlignmentRules {
            enabled: true,
            warning: 0.5,
            failure: 0.9,
            baseline: AlignmentBaseline::default(),
            journal,
        }
    }

    #[test]
    fn one_warning_passes_two_warn_and_one_failure_rejects() {
        let mut found = Alignment::default();
        assert_eq!(rules(None).level(&found), AlignmentLevel::Fine);
        found.warn("a", String::new());
        assert_eq!(rules(None).level(&found), AlignmentLevel::Fine);
        found.warn("b", String::new());
        assert_eq!(rules(None).level(&found), AlignmentLevel::AlignmentWarning);
        let mut bad = Alignment::default();
        bad.fail("c", String::new());
        assert_eq!(rules(None).level(&bad), AlignmentLevel::AlignmentFailure);
    }

    #[test]
    fn small_changes_are_compared_with_the_baseline() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(
            directory.path().join("a.py"),
            "import logging\nlogging.info('a')\nlogging.info('b')\n",
        )
        .unwrap();
        let baseline = AlignmentBaseline::of(directory.path(), ["a.py", "none.py"].into_iter());
        let path = directory.path().join("baseline.json");
        assert_eq!(AlignmentBaseline::read(&path).unwrap(), None);
        std::fs::write(&path, serde_json::to_vec(&baseline).unwrap()).unwrap();
        assert_eq!(AlignmentBaseline::read(&path).unwrap().unwrap(), baseline);
        let remarks = baseline.remarks(&proposal("import logging\nlogging.info('a')\n"));
        assert!(remarks[0].message.contains("2 → 1"), "{remarks:?}");
        std::fs::write(&path, "nothing").unwrap();
        assert!(AlignmentBaseline::read(&path).is_err());
    }

    #[test]
    fn a_change_is_journaled_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("alignment_flags.jsonl");
        let rules = rules(Some(path.clone()));
        let run: RunId = "r_01kbz7q3m9x4vt".parse().unwrap();
        std::fs::write(&path, "{\"cut off").unwrap();
        for _ in 0..2 {
            rules.note(&run, &proposal("x = 2\n"), &Alignment::default(), 1).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.lines().nth(1).unwrap().contains("\"level\":\"fine\""));
    }
}
