//! What does not fit together: workflows, metrics, histories and maps that say what cannot be.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::metrics;

/// What there is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Known {
    /// Sections of the repository.
    pub sections: BTreeSet<String>,
    /// Workflows and the sections that they name.
    pub workflows: BTreeMap<String, Vec<String>>,
    /// Metrics of this cycle.
    pub metrics: BTreeMap<String, f64>,
    /// Numbers of the cycles of the history, in their order.
    pub cycles: Vec<u64>,
    /// Modules of the repository.
    pub modules: BTreeSet<String>,
    /// Modules of `module_map.json`; nothing if there is none.
    pub mapped: Option<BTreeSet<String>>,
}

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Discrepancy {
    /// A workflow names a section that is not there.
    MissingSection {
        /// The workflow.
        workflow: String,
        /// The section.
        section: String,
    },
    /// A metric is where it cannot be.
    OutOfRange {
        /// The metric.
        metric: String,
        /// Its value, as it is written.
        value: String,
    },
    /// Cycles are missing, or not in their order.
    HistoryGap {
        /// The one before.
        after: u64,
        /// The one that follows.
        next: u64,
    },
    /// The map has a module that is not there.
    MappedButGone {
        /// The module.
        module: String,
    },
    /// The map does not have a module.
    NotMapped {
        /// The module.
        module: String,
    },
}

/// All that does not fit, in the same order each time.
pub fn discrepancies(known: &Known) -> Vec<Discrepancy> {
    let mut found = Vec::new();
    for (workflow, sections) in &known.workflows {
        let missing = sections.iter().filter(|section| !known.sections.contains(*section));
        found.extend(missing.map(|section| Discrepancy::MissingSection {
            workflow: workflow.clone(),
            section: section.clone(),
        }));
    }
    for (metric, value) in &known.metrics {
        if !metrics::is_possible(metric, *value) {
            found.push(Discrepancy::OutOfRange { metric: metric.clone(), value: value.to_string() });
        }
    }
    for pair in known.cycles.windows(2) {
        if pair[1] != pair[0] + 1 {
            found.push(Discrepancy::HistoryGap { after: pair[0], next: pair[1] });
        }
    }
    if let Some(mapped) = &known.mapped {
        let gone = mapped.difference(&known.modules);
        found.extend(gone.map(|module| Discrepancy::MappedButGone { module: module.clone() }));
        let new = known.modules.difference(mapped);
        found.extend(new.map(|module| Discrepancy::NotMapped { module: module.clone() }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn everything_that_does_not_fit_is_found_and_nothing_else() {
        let fitting = Known {
            sections: set(&["a:f"]),
            workflows: BTreeMap::from([("w".to_owned(), vec!["a:f".to_owned()])]),
            metrics: BTreeMap::from([("reliability".to_owned(), 1.0), ("throughput".to_owned(), 900.0)]),
            cycles: vec![3, 4, 5],
            modules: set(&["a.py"]),
            mapped: Some(set(&["a.py"])),
        };
        assert_eq!(discrepancies(&fitting), []);
        assert_eq!(discrepancies(&Known { mapped: None, ..fitting.clone() }), []);
        let wrong = Known {
            sections: set(&[]),
            metrics: BTreeMap::from([("reliability".to_owned(), 1.5), ("throughput".to_owned(), -1.0)]),
            cycles: vec![3, 5, 4],
            mapped: Some(set(&["b.py"])),
            ..fitting
        };
        let kinds: Vec<String> = discrepancies(&wrong)
            .iter()
            .map(|one| serde_json::to_value(one).unwrap()["kind"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            kinds,
            [
                "missing_section",
                "out_of_range",
                "out_of_range",
                "history_gap",
                "history_gap",
                "mapped_but_gone",
                "not_mapped"
            ]
        );
    }
}
