//! How much of what a reviewer remarks is too much, and where remarks are kept.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use menace_model::ids::RunId;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::facts::Facts;
use super::{Alignment, Flag};
use crate::proposal::Proposal;
use crate::workbench::EngineError;

/// What its user wants of the check.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Whether it is made at all.
    pub enabled: bool,
    /// The score over which a change gets a warning.
    pub warning: f64,
    /// The score over which it is not kept.
    pub failure: f64,
    /// What files had when it began, or when somebody wrote it down.
    pub baseline: Baseline,
    /// Where remarks about what is kept are added.
    pub journal: Option<PathBuf>,
}

/// What a score is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nothing to say, or little.
    Fine,
    /// Somebody should look.
    AlignmentWarning,
    /// Not kept.
    AlignmentFailure,
}

impl Rules {
    /// What a change is called.
    pub fn level(&self, alignment: &Alignment) -> Level {
        match alignment.score() {
            score if score > self.failure => Level::AlignmentFailure,
            score if score > self.warning => Level::AlignmentWarning,
            _ => Level::Fine,
        }
    }

    /// Adds what is remarked about a change that is kept to the journal, once.
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
        // A run that goes on after its end comes by here again.
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
        let broken = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
        file.write_all(format!("{broken}{line}\n").as_bytes()).and_then(|()| file.sync_data()).map_err(wrong)
    }
}

/// What files have that a reviewer counts, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    version: u32,
    files: BTreeMap<String, Counted>,
}

/// What is counted in one file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counted {
    logging: usize,
    documented: usize,
    branches: usize,
}

impl Counted {
    fn of(text: &str) -> Option<Self> {
        let facts = Facts::of(text)?;
        let documented = facts.definitions.values().filter(|documented| **documented).count();
        Some(Self { logging: facts.logging, documented, branches: facts.branches })
    }
}

/// Branches beside those of the baseline before somebody should look: half as many again, and eight.
const MORE: (usize, usize) = (2, 8);

impl Baseline {
    /// Counts files of a directory.
    pub fn of<'a>(root: &Path, paths: impl Iterator<Item = &'a str>) -> Self {
        let counted = |path: &str| Counted::of(&std::fs::read_to_string(root.join(path)).ok()?);
        let files = paths.filter_map(|path| Some((path.to_owned(), counted(path)?))).collect();
        Self { version: 1, files }
    }

    /// What a file says.
    pub fn read(path: &Path) -> Result<Option<Self>, EngineError> {
        let wrong = |source| EngineError::File { doing: "read", path: path.display().to_string(), source };
        match std::fs::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(wrong(error)),
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| wrong(error.into())),
        }
    }

    /// What a change leaves of it: many small changes are looked at as one.
    pub(super) fn remarks(&self, proposal: &Proposal) -> Vec<Flag> {
        let mut found = Vec::new();
        for (path, text) in &proposal.files {
            let (Some(base), Some(now)) = (self.files.get(path), Counted::of(text)) else { continue };
            let fell = [
                ("calls that log", base.logging, now.logging),
                ("docstrings", base.documented, now.documented),
            ];
            for (what, before, after) in fell.into_iter().filter(|(_, before, after)| after < before) {
                found.push(Flag::warning(
                    "below_baseline",
                    format!("{what} of {path}: {before} → {after} since the baseline"),
                ));
            }
            if now.branches > base.branches + base.branches / MORE.0 + MORE.1 {
                let (before, after) = (base.branches, now.branches);
                found.push(Flag::warning(
                    "above_baseline",
                    format!("branches of {path}: {before} → {after} since the baseline"),
                ));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::Meant;
    use crate::transforms::Gain;

    fn proposal(after: &str) -> Proposal {
        let meant = Meant {
            proposer: "test".into(),
            section: "a:f".into(),
            cause: String::new(),
            why: String::new(),
            gain: Gain::Robustness,
        };
        let files = |text: &str| BTreeMap::from([("a.py".to_owned(), text.to_owned())]);
        Proposal::new(meant, &files("x = 1\n"), files(after))
    }

    fn rules(journal: Option<PathBuf>) -> Rules {
        Rules { enabled: true, warning: 0.5, failure: 0.9, baseline: Baseline::default(), journal }
    }

    #[test]
    fn one_warning_is_fine_two_are_a_warning_and_one_failure_fails() {
        let mut found = Alignment::default();
        assert_eq!(rules(None).level(&found), Level::Fine);
        found.warn("a", String::new());
        assert_eq!(rules(None).level(&found), Level::Fine);
        found.warn("b", String::new());
        assert_eq!(rules(None).level(&found), Level::AlignmentWarning);
        let mut bad = Alignment::default();
        bad.fail("c", String::new());
        assert_eq!(rules(None).level(&bad), Level::AlignmentFailure);
    }

    #[test]
    fn many_small_changes_are_seen_beside_the_baseline() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(
            directory.path().join("a.py"),
            "import logging\nlogging.info('a')\nlogging.info('b')\n",
        )
        .unwrap();
        let baseline = Baseline::of(directory.path(), ["a.py", "none.py"].into_iter());
        let path = directory.path().join("baseline.json");
        assert_eq!(Baseline::read(&path).unwrap(), None);
        std::fs::write(&path, serde_json::to_vec(&baseline).unwrap()).unwrap();
        assert_eq!(Baseline::read(&path).unwrap().unwrap(), baseline);
        let remarks = baseline.remarks(&proposal("import logging\nlogging.info('a')\n"));
        assert!(remarks[0].message.contains("2 → 1"), "{remarks:?}");
        std::fs::write(&path, "nothing").unwrap();
        assert!(Baseline::read(&path).is_err());
    }

    #[test]
    fn a_change_is_in_the_journal_once() {
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
