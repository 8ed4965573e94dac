//! Errors in an answer, worded so that the model can correct it.

use menace_model::{ErrorClass, ErrorDetails};

/// Error in an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The answer is too long.
    #[error("the answer has {bytes} bytes, more than {limit}")]
    TooLong {
        /// Length of the answer.
        bytes: usize,
        /// Maximum length.
        limit: usize,
    },
    /// The answer has too many edits.
    #[error("the answer has more than {limit} edits")]
    TooMany {
        /// Maximum number of edits.
        limit: usize,
    },
    /// The answer ends within the reasoning.
    #[error("the answer is only reasoning: <think> is never closed")]
    OnlyReasoning,
    /// The answer is prose, an error page or another format.
    #[error("the answer has no edit in it")]
    NoEdits,
    /// The answer is truncated.
    #[error("the answer ends within {label}")]
    Unfinished {
        /// Name of the edit.
        label: String,
    },
    /// A search block without a file name.
    #[error("the search block in line {line} of the answer names no file")]
    NoPath {
        /// Line of the answer.
        line: usize,
    },
    /// A hunk without a file name.
    #[error("the hunk in line {line} of the answer belongs to no file")]
    HunkWithoutFile {
        /// Line of the answer.
        line: usize,
    },
    /// A diff header without hunks.
    #[error("the diff of {path} has no hunk")]
    NoHunks {
        /// The file.
        path: String,
    },
    /// A hunk of a combined diff.
    #[error("line {line} of the answer is the hunk of a merge: {text:?}")]
    Merge {
        /// Line of the answer.
        line: usize,
        /// Text of the line.
        text: String,
    },
    /// A hunk without lines.
    #[error("{label} is empty")]
    EmptyHunk {
        /// Name of the edit.
        label: String,
    },
    /// A line in a hunk without a valid prefix.
    #[error("line {line} of the answer, in {label}, begins with none of space, + and -: {text:?}")]
    BadLine {
        /// Name of the edit.
        label: String,
        /// Line of the answer.
        line: usize,
        /// Text of the line.
        text: String,
    },
    /// A search block without a divider or with several.
    #[error("{label} has {found} lines that could divide SEARCH from REPLACE, not one")]
    Divider {
        /// Name of the edit.
        label: String,
        /// Number of possible dividers.
        found: usize,
    },
    /// A search block inside another.
    #[error("line {line} of the answer begins a search block before {label} ends")]
    Nested {
        /// Name of the edit.
        label: String,
        /// Line of the answer.
        line: usize,
    },
    /// A marker outside a search block.
    #[error("line {line} of the answer is a marker without a block: {text:?}")]
    StrayMarker {
        /// Line of the answer.
        line: usize,
        /// Text of the line.
        text: String,
    },
    /// The answer creates a file.
    #[error("{path} would be a new file; only files that exist may be changed")]
    NewFile {
        /// The file.
        path: String,
    },
    /// The answer deletes a file.
    #[error("{path} would be deleted; only what is in files may be changed")]
    Deletion {
        /// The file.
        path: String,
    },
    /// The answer renames or copies a file.
    #[error("{from} would become {to}; files may not be renamed or copied")]
    Rename {
        /// Old name.
        from: String,
        /// New name.
        to: String,
    },
    /// The answer changes file permissions.
    #[error("the mode of {path} would change; only what is in files may be changed")]
    Mode {
        /// The file.
        path: String,
    },
    /// The answer is a binary patch, which cannot be reviewed.
    #[error("the patch of {path} is binary; only text may be changed")]
    Binary {
        /// The file.
        path: String,
    },
    /// The path is absolute.
    #[error("{path} is an absolute path")]
    Absolute {
        /// Path in the answer.
        path: String,
    },
    /// The path leaves the repository.
    #[error("{path} leaves the repository")]
    Parent {
        /// Path in the answer.
        path: String,
    },
    /// The file does not exist.
    #[error("there is no file {path:?}; the files are {known}")]
    Unknown {
        /// Path in the answer.
        path: String,
        /// Some of the existing files.
        known: String,
    },
    /// Several files match the path.
    #[error("{path} could be any of {known}")]
    AmbiguousPath {
        /// Path in the answer.
        path: String,
        /// Matching files.
        known: String,
    },
    /// The quoted lines are not in the file.
    #[error("{label} is not in the file: {nearest}")]
    NotFound {
        /// Name of the edit.
        label: String,
        /// Description of the most similar location.
        nearest: String,
    },
    /// The quoted lines occur more than once.
    #[error("{label} is in the file more than once: lines {lines}")]
    Ambiguous {
        /// Name of the edit.
        label: String,
        /// First line numbers.
        lines: String,
    },
    /// The edit has only new lines, without a location.
    #[error("{label} quotes no line of the file")]
    NothingQuoted {
        /// Name of the edit.
        label: String,
    },
    /// Two edits change the same lines.
    #[error("{label} and {other} both change line {line}")]
    Overlap {
        /// Name of the edit.
        label: String,
        /// Name of the other edit.
        other: String,
        /// Line of the file.
        line: usize,
    },
    /// An invisible or damaged character.
    #[error("{label} adds the character {character}, which is invisible and not in the file so far")]
    Invisible {
        /// Name of the edit.
        label: String,
        /// Code point, such as `U+202E`.
        character: String,
    },
    /// A whole file with elided parts.
    #[error("{label} leaves something out: {text:?}")]
    Elided {
        /// Name of the edit.
        label: String,
        /// The eliding line.
        text: String,
    },
    /// A fence whose end cannot be told from a fence inside the file.
    #[error("{label} has fences of its own, so its end is not certain")]
    UncertainEnd {
        /// Name of the edit.
        label: String,
    },
    /// The answer changes nothing.
    #[error("the answer changes nothing: every file stays as it is")]
    NoChange,
}

impl ErrorDetails for EditError {
    /// The answer of a model is part of the environment: another request may get a better one.
    fn class(&self) -> ErrorClass {
        match self {
            Self::TooLong { .. }
            | Self::TooMany { .. }
            | Self::OnlyReasoning
            | Self::NoEdits
            | Self::Unfinished { .. }
            | Self::NoPath { .. }
            | Self::HunkWithoutFile { .. }
            | Self::NoHunks { .. }
            | Self::Merge { .. }
            | Self::EmptyHunk { .. }
            | Self::BadLine { .. }
            | Self::Divider { .. }
            | Self::Nested { .. }
            | Self::StrayMarker { .. }
            | Self::NewFile { .. }
            | Self::Deletion { .. }
            | Self::Rename { .. }
            | Self::Mode { .. }
            | Self::Binary { .. }
            | Self::Absolute { .. }
            | Self::Parent { .. }
            | Self::Unknown { .. }
            | Self::AmbiguousPath { .. }
            | Self::NotFound { .. }
            | Self::Ambiguous { .. }
            | Self::NothingQuoted { .. }
            | Self::Overlap { .. }
            | Self::Invisible { .. }
            | Self::Elided { .. }
            | Self::UncertainEnd { .. }
            | Self::NoChange => ErrorClass::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::TooLong { .. } => "quote only the lines that change",
            Self::TooMany { .. } => "make fewer edits",
            Self::OnlyReasoning => "shorten the reasoning, then answer",
            Self::NoEdits => {
                "write a unified diff (---, +++, @@) or blocks of <<<<<<< SEARCH, =======, >>>>>>> REPLACE with the name of the file in the line before"
            }
            Self::Unfinished { .. } => "write all of it, and close the fence",
            Self::NoPath { .. } => "put the name of the file alone in the line before it",
            Self::HunkWithoutFile { .. } => "put `--- a/name` and `+++ b/name` before it",
            Self::NoHunks { .. } => "a hunk begins with a line such as `@@ -12,3 +12,4 @@`",
            Self::Merge { .. } => "write a diff against one version, with `@@ -12,3 +12,4 @@`",
            Self::BadLine { .. } => "lines that stay begin with a space; put the diff into a ```diff fence",
            Self::Divider { .. } => {
                "use as many = as < and another number where the text itself has such a line"
            }
            Self::StrayMarker { .. } => {
                "a block is <<<<<<< SEARCH, =======, >>>>>>> REPLACE, each alone in a line"
            }
            Self::Absolute { .. } | Self::Parent { .. } | Self::AmbiguousPath { .. } => {
                "name files from the root of the repository"
            }
            Self::NotFound { .. } => "quote the lines as they are in the file",
            Self::Ambiguous { .. } => "quote more of the lines around it",
            Self::NothingQuoted { .. } => "quote the lines before and after what is added",
            Self::Overlap { .. } => "write them as one",
            Self::Elided { .. } | Self::UncertainEnd { .. } => "write a diff or a search block instead",
            Self::EmptyHunk { .. }
            | Self::Nested { .. }
            | Self::NewFile { .. }
            | Self::Deletion { .. }
            | Self::Rename { .. }
            | Self::Mode { .. }
            | Self::Binary { .. }
            | Self::Unknown { .. }
            | Self::Invisible { .. }
            | Self::NoChange => return None,
        };
        Some(text.to_owned())
    }
}
