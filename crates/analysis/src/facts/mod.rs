//! File facts: everything that depends on the bytes of one file alone, and so can be cached by their hash.

mod extract;
mod legacy;
#[cfg(test)]
mod robustness_tests;

pub(crate) use extract::extract;

use menace_model::inventory::{HalsteadCounts, LineCounts, LintFinding, Section, SecurityFinding};
use serde::{Deserialize, Serialize};

use crate::duplicates::ModuleFingerprint;
use crate::sections::RawImport;

/// Facts of one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileFacts {
    pub(crate) sections: Vec<Section>,
    pub(crate) imports: Vec<RawImport>,
    pub(crate) lines: LineCounts,
    pub(crate) halstead: HalsteadCounts,
    pub(crate) maintainability: Option<f64>,
    pub(crate) entropy: f64,
    pub(crate) findings: Vec<SecurityFinding>,
    pub(crate) lint: Vec<LintFinding>,
    pub(crate) fingerprint: ModuleFingerprint,
    pub(crate) dotted_strings: Vec<String>,
    pub(crate) has_main_guard: bool,
    pub(crate) has_shebang: bool,
    /// Whether the module contains statements besides a docstring.
    pub(crate) has_code: bool,
    /// Evidence from the module itself that it is obsolete.
    pub(crate) legacy_marker: Option<String>,
    /// Diagnostics as (line, message).
    pub(crate) diagnostics: Vec<(Option<u32>, String)>,
}
