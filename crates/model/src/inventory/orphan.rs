//! Modules that nothing needs, and why we think so.

use serde::{Deserialize, Serialize};

/// Why a module is listed as an orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrphanClass {
    /// Nothing imports it, it is no entry point and no test.
    Isolated,
    /// Only orphans or tests import it.
    Orphan,
    /// It repeats another module.
    Redundant,
    /// It says itself that it is obsolete.
    Legacy,
}

/// A module that nothing needs.
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
    /// For `redundant`: the module it repeats.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duplicate_of: Option<String>,
    /// For `redundant`: how alike they are, 0…1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub similarity: Option<f64>,
}
