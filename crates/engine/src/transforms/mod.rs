//! Built-in source changes that need no model: each transform recognizes one mistake and knows its replacement.

mod failures;
mod review;

pub use failures::of_failures;
pub use review::of_review;

pub use menace_model::patches::ProposalGain;

use crate::editable_source::EditableSource;

/// Reason to change a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// Calls of a section fail.
    Failure(SectionFailure),
    /// Review of a section without a failure. Holds its qualified name in the module, such as `Cart.total`.
    Review(String),
}

/// Failure of calls of a section.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SectionFailure {
    /// Called section, by its qualified name in the module.
    pub section: String,
    /// Line of the innermost frame in this file; 0 if unknown.
    pub line: u32,
    /// Classification: `crash`, `timeout`, `oom`, `disk_full`, `denied`, `wrong`.
    pub kind: String,
    /// Exception without its module, such as `KeyError`.
    pub exception: Option<String>,
    /// Message of the exception, or the reason of the failure.
    pub message: String,
    /// Scenario in which the calls fail.
    pub scenario: String,
    /// Smallest failing arguments, as Python expressions by parameter name.
    pub arguments: Vec<(String, String)>,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRewrite {
    /// Complete text of the file.
    pub text: String,
    /// Change and its reason, in a sentence for a reviewer; the subject of the commit.
    pub why: String,
    /// Intended improvement.
    pub gain: ProposalGain,
}

/// One kind of change.
pub trait Transform: Send + Sync {
    /// Identifier, such as `divide-by-zero`.
    fn name(&self) -> &'static str;
    /// Changes that answer the cause, best first; empty if the transform does not apply.
    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite>;
}
