//! Changes of Python source that need no model: each knows one mistake and what to write instead.

mod failures;
mod review;

pub use failures::of_failures;
pub use review::of_review;

use serde::{Deserialize, Serialize};

use crate::source::Source;

/// What was seen, so that something is changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// Calls of a section fail.
    Failure(Failed),
    /// Nothing failed: a section is looked at as a reviewer would. Its qualified name in the module, such as `Cart.total`.
    Review(String),
}

/// How calls of a section fail.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Failed {
    /// The section that was called, by its qualified name in its module.
    pub section: String,
    /// The line of the innermost frame in this file; 0 if nobody knows.
    pub line: u32,
    /// `crash`, `timeout`, `oom`, `disk_full`, `denied`, `wrong`.
    pub kind: String,
    /// The exception without its module, such as `KeyError`.
    pub exception: Option<String>,
    /// Its text, or why it failed.
    pub message: String,
    /// The scenario in which it does.
    pub scenario: String,
    /// The smallest arguments with which it does, as Python expressions by the name of the parameter.
    pub arguments: Vec<(String, String)>,
}

/// What a change is meant to improve. It is measured as that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gain {
    /// Fewer calls fail.
    Robustness,
    /// Fewer findings of security or lint.
    Findings,
    /// Less time for the same.
    Speed,
}

/// A file with a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Rewrite {
    /// All of the file.
    pub text: String,
    /// What was changed and why, in a sentence for a reviewer.
    pub why: String,
    /// What it is meant to improve.
    pub gain: Gain,
}

/// One kind of change.
pub trait Transform: Send + Sync {
    /// What it is called, such as `divide-by-zero`.
    fn name(&self) -> &'static str;
    /// The changes that it would make, the best first; none if it has nothing to say about this.
    fn rewrite(&self, source: &Source, cause: &Cause) -> Vec<Rewrite>;
}
