//! Orphan modules and the evidence for them.

use serde::{Deserialize, Serialize};

/// Reason for listing a module as an orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrphanClass {
    /// Nothing imports it, and it is neither an entry point nor a test.
    Isolated,
    /// Only orphans or tests import it.
    Orphan,
    /// It duplicates another module.
    Redundant,
    /// Its own text declares it obsolete.
    Legacy,
}

impl OrphanClass {
    /// Its name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isolated => "isolated",
            Self::Orphan => "orphan",
            Self::Redundant => "redundant",
            Self::Legacy => "legacy",
        }
    }
}

/// A module that nothing imports and no entry point reaches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Orphan {
    /// Relative to the root.
    pub path: String,
    /// The class.
    pub class: OrphanClass,
    /// The orphans or tests through which it is reached; empty when nothing imports it.
    pub parents: Vec<String>,
    /// One sentence of evidence.
    pub reason: String,
    /// For `redundant`: the module that it duplicates.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duplicate_of: Option<String>,
    /// For `redundant`: similarity to that module, 0…1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub similarity: Option<f64>,
}
