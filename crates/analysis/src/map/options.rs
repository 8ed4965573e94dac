//! Options of the module map: `--algorithm`, `--threshold` and `--semantic`.

use std::fmt;
use std::str::FromStr;

use menace_model::{ErrorClass, ErrorDetails};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Algorithm that groups modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupingAlgorithm {
    /// Maximises modularity by moving modules, refined so that every group is connected.
    #[default]
    Louvain,
    /// Maximises modularity by joining groups; uses no randomness.
    #[serde(alias = "greedy_modularity")]
    Greedy,
    /// Every module takes the label of most of its neighbours; the fastest.
    #[serde(alias = "label_propagation")]
    Label,
    /// Finds dense regions of the modules' wording; imports are ignored, and modules outside them are noise.
    Hdbscan,
}

/// Unknown value of `--algorithm`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown grouping algorithm {word:?}: expected louvain, greedy, label or hdbscan")]
pub struct UnknownGroupingAlgorithm {
    word: String,
}

impl ErrorDetails for UnknownGroupingAlgorithm {
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }
}

impl GroupingAlgorithm {
    /// Name of the algorithm on the command line and in `module_map.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Louvain => "louvain",
            Self::Greedy => "greedy",
            Self::Label => "label",
            Self::Hdbscan => "hdbscan",
        }
    }
}

impl fmt::Display for GroupingAlgorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for GroupingAlgorithm {
    type Err = UnknownGroupingAlgorithm;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "louvain" => Ok(Self::Louvain),
            "greedy" | "greedy_modularity" => Ok(Self::Greedy),
            "label" | "label_propagation" => Ok(Self::Label),
            "hdbscan" => Ok(Self::Hdbscan),
            _ => Err(UnknownGroupingAlgorithm { word: word.to_owned() }),
        }
    }
}

/// Options of the grouping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapOptions {
    /// Algorithm that groups the modules.
    pub algorithm: GroupingAlgorithm,
    /// Minimum strength of a relation between two modules, from 0 (any) to 1 (only the strongest).
    ///
    /// - Wording (with `semantic`, and always for HDBSCAN): the cosine of the two documents must reach it.
    /// - Imports and calls: the edge must weigh at least this share of the strongest edge of *one* of its two
    ///   modules. So a stray import between two busy modules is ignored, while a module's strongest edge
    ///   always counts and no threshold cuts a module off.
    ///
    /// Values outside the range are clamped; `NaN` means the default.
    pub threshold: f64,
    /// Whether similar wording relates modules in addition to imports and calls. A pair of identical documents weighs
    /// as much as one import. HDBSCAN uses the wording in either case.
    pub semantic: bool,
    /// Random seed of the order of visits; equal seeds give equal maps. Only Louvain and label propagation use it.
    pub seed: u64,
}

impl MapOptions {
    /// Threshold when none is given.
    pub const DEFAULT_THRESHOLD: f64 = 0.1;

    /// Threshold clamped to its range.
    pub(crate) fn threshold_in_range(&self) -> f64 {
        if self.threshold.is_nan() { Self::DEFAULT_THRESHOLD } else { self.threshold.clamp(0.0, 1.0) }
    }

    /// Whether documents have to be embedded.
    pub(crate) fn reads_wording(&self) -> bool {
        self.semantic || self.algorithm == GroupingAlgorithm::Hdbscan
    }
}

impl Default for MapOptions {
    fn default() -> Self {
        Self {
            algorithm: GroupingAlgorithm::default(),
            threshold: Self::DEFAULT_THRESHOLD,
            semantic: false,
            seed: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_to_their_algorithms() {
        for algorithm in [
            GroupingAlgorithm::Louvain,
            GroupingAlgorithm::Greedy,
            GroupingAlgorithm::Label,
            GroupingAlgorithm::Hdbscan,
        ] {
            assert_eq!(algorithm.as_str().parse(), Ok(algorithm));
            assert_eq!(serde_json::to_value(algorithm).unwrap(), algorithm.as_str());
        }
        assert_eq!("greedy_modularity".parse(), Ok(GroupingAlgorithm::Greedy));
        assert_eq!("label_propagation".parse(), Ok(GroupingAlgorithm::Label));
    }

    #[test]
    fn unknown_algorithm_error_lists_the_known_ones() {
        let error = "kmeans".parse::<GroupingAlgorithm>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown grouping algorithm \"kmeans\": expected louvain, greedy, label or hdbscan"
        );
    }

    #[test]
    fn thresholds_are_clamped() {
        let in_range = |threshold| MapOptions { threshold, ..MapOptions::default() }.threshold_in_range();
        let pairs =
            [(f64::NAN, 0.1), (-3.0, 0.0), (f64::INFINITY, 1.0), (f64::NEG_INFINITY, 0.0), (0.25, 0.25)];
        for (given, expected) in pairs {
            assert!((in_range(given) - expected).abs() < 1e-12, "{given}");
        }
    }
}
