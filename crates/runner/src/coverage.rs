//! Lines of modules that calls reached.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::calls::SectionDescription;
use serde::Serialize;

use crate::callable_section::CallableSection;
use crate::outcome::CallOutcome;

/// Coverage of one module.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModuleCoverage {
    /// Path of the file.
    pub path: String,
    /// Executable lines of its sections.
    pub executable: usize,
    /// Executable lines that were reached.
    pub reached: usize,
    /// Share of executable lines that were reached.
    pub share: f64,
}

/// Coverage of each module that has executable lines in callable sections.
pub(crate) fn coverage(targets: &[CallableSection], outcomes: &[CallOutcome]) -> Vec<ModuleCoverage> {
    let mut executable: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for target in targets {
        if let Some(SectionDescription::Callable { lines, .. }) = &target.described {
            let of_module = executable.entry(&target.path).or_default();
            of_module.extend(lines);
        }
    }
    let mut reached: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for lines in outcomes.iter().filter_map(reached_lines) {
        for (path, numbers) in lines {
            reached.entry(path).or_default().extend(numbers);
        }
    }
    let none = BTreeSet::new();
    executable
        .into_iter()
        .filter(|(_, lines)| !lines.is_empty())
        .map(|(path, lines)| {
            let count = reached.get(path).unwrap_or(&none).intersection(&lines).count();
            ModuleCoverage {
                path: path.to_owned(),
                executable: lines.len(),
                reached: count,
                share: count as f64 / lines.len() as f64,
            }
        })
        .collect()
}

/// Lines that a call reached, by path.
fn reached_lines(outcome: &CallOutcome) -> Option<&BTreeMap<String, Vec<u32>>> {
    outcome.measures.as_ref()?.seen.as_ref()?.lines.as_ref()
}
