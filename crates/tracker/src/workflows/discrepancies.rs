//! Discrepancies between workflows, metrics, the history and the module map.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::metrics;

/// The records that are compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ComparedRecords {
    /// Sections of the repository.
    pub sections: BTreeSet<String>,
    /// Workflows with their sections.
    pub workflows: BTreeMap<String, Vec<String>>,
    /// Metrics of this cycle.
    pub metrics: BTreeMap<String, f64>,
    /// Cycle numbers of the history, in stored order.
    pub cycles: Vec<u64>,
    /// Modules of the repository.
    pub modules: BTreeSet<String>,
    /// Modules of `module_map.json`; `None` if there is no map.
    pub mapped: Option<BTreeSet<String>>,
}

/// A discrepancy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Discrepancy {
    /// A workflow names a section that does not exist.
    MissingSection {
        /// The workflow.
        workflow: String,
        /// The section.
        section: String,
    },
    /// A metric is outside its range.
    OutOfRange {
        /// The metric.
        metric: String,
        /// Its value, as it is written.
        value: String,
    },
    /// Cycles of the history are missing or out of order.
    HistoryGap {
        /// The cycle before the gap.
        after: u64,
        /// The cycle after the gap.
        next: u64,
    },
    /// The module map has a module that does not exist.
    MappedButGone {
        /// The module.
        module: String,
    },
    /// The module map lacks a module.
    NotMapped {
        /// The module.
        module: String,
    },
}

/// All discrepancies, in a fixed order.
pub fn discrepancies(known: &ComparedRecords) -> Vec<Discrepancy> {
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
    fn exactly_the_discrepancies_are_found() {
        let fitting = ComparedRecords {
            sections: set(&["a:f"]),
            workflows: BTreeMap::from([("w".to_owned(), vec!["a:f".to_owned()])]),
            metrics: BTreeMap::from([("reliability".to_owned(), 1.0), ("throughput".to_owned(), 900.0)]),
            cycles: vec![3, 4, 5],
            modules: set(&["a.py"]),
            mapped: Some(set(&["a.py"])),
        };
        assert_eq!(discrepancies(&fitting), []);
        assert_eq!(discrepancies(&ComparedRecords { mapped: None, ..fitting.clone() }), []);
        let wrong = ComparedRecords {
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
