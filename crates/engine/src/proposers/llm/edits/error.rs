//! What can be wrong with an answer, in words from which whoever wrote it can correct it.

/// Why an answer is not a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Nobody edits a file by so much.
    #[error("the answer has {bytes} bytes, more than {limit}\nhint: quote only the lines that change")]
    TooLong {
        /// What it has.
        bytes: usize,
        /// What is read.
        limit: usize,
    },
    /// Too many places.
    #[error("the answer has more than {limit} edits\nhint: change fewer places at once")]
    TooMany {
        /// What is read.
        limit: usize,
    },
    /// It thought and then stopped.
    #[error("the answer is only reasoning: <think> is never closed\nhint: think less, and then answer")]
    OnlyReasoning,
    /// Prose, an error page, another format.
    #[error(
        "the answer has no edit in it\nhint: write a unified diff (---, +++, @@) or blocks of <<<<<<< SEARCH, =======, >>>>>>> REPLACE with the name of the file in the line before"
    )]
    NoEdits,
    /// It ends too early.
    #[error("the answer ends within {label}\nhint: write all of it, and close the fence")]
    Unfinished {
        /// Which edit.
        label: String,
    },
    /// A search block of an unknown file.
    #[error(
        "the search block in line {line} of the answer names no file\nhint: put the name of the file alone in the line before it"
    )]
    NoPath {
        /// Of the answer.
        line: usize,
    },
    /// A hunk of an unknown file.
    #[error(
        "the hunk in line {line} of the answer belongs to no file\nhint: put `--- a/name` and `+++ b/name` before it"
    )]
    HunkWithoutFile {
        /// Of the answer.
        line: usize,
    },
    /// A header and nothing else.
    #[error("the diff of {path} has no hunk\nhint: a hunk begins with a line such as `@@ -12,3 +12,4 @@`")]
    NoHunks {
        /// The file.
        path: String,
    },
    /// A hunk of a merge.
    #[error(
        "line {line} of the answer is the hunk of a merge: {text:?}\nhint: write a diff against one version, with `@@ -12,3 +12,4 @@`"
    )]
    Merge {
        /// Of the answer.
        line: usize,
        /// What is there.
        text: String,
    },
    /// A hunk without lines.
    #[error("{label} is empty")]
    EmptyHunk {
        /// Which edit.
        label: String,
    },
    /// A line of a hunk that is no line of a hunk.
    #[error(
        "line {line} of the answer, in {label}, begins with none of space, + and -: {text:?}\nhint: lines that stay begin with a space; put the diff into a ```diff fence"
    )]
    BadLine {
        /// Which edit.
        label: String,
        /// Of the answer.
        line: usize,
        /// What is there.
        text: String,
    },
    /// No line or several lines divide what is searched from what replaces it.
    #[error(
        "{label} has {found} lines that could divide SEARCH from REPLACE, not one\nhint: use as many = as < and another number where the text itself has such a line"
    )]
    Divider {
        /// Which edit.
        label: String,
        /// How many.
        found: usize,
    },
    /// A block in a block.
    #[error("line {line} of the answer begins a search block before {label} ends")]
    Nested {
        /// Which edit.
        label: String,
        /// Of the answer.
        line: usize,
    },
    /// A marker that belongs to nothing.
    #[error(
        "line {line} of the answer is a marker without a block: {text:?}\nhint: a block is <<<<<<< SEARCH, =======, >>>>>>> REPLACE, each alone in a line"
    )]
    StrayMarker {
        /// Of the answer.
        line: usize,
        /// What is there.
        text: String,
    },
    /// Proposals change files that there are.
    #[error("{path} would be a new file; only files that exist may be changed")]
    NewFile {
        /// The file.
        path: String,
    },
    /// Proposals leave files where they are.
    #[error("{path} would be deleted; only what is in files may be changed")]
    Deletion {
        /// The file.
        path: String,
    },
    /// Proposals leave files where they are.
    #[error("{from} would become {to}; files may not be renamed or copied")]
    Rename {
        /// What it is called.
        from: String,
        /// What it would be called.
        to: String,
    },
    /// Proposals leave permissions as they are.
    #[error("the mode of {path} would change; only what is in files may be changed")]
    Mode {
        /// The file.
        path: String,
    },
    /// Nobody can review it.
    #[error("the patch of {path} is binary; only text may be changed")]
    Binary {
        /// The file.
        path: String,
    },
    /// From the root of the machine.
    #[error("{path} is an absolute path\nhint: name files from the root of the repository")]
    Absolute {
        /// As the answer has it.
        path: String,
    },
    /// Out of the repository.
    #[error("{path} leaves the repository\nhint: name files from the root of the repository")]
    Parent {
        /// As the answer has it.
        path: String,
    },
    /// No such file.
    #[error("there is no file {path:?}; the files are {known}")]
    Unknown {
        /// As the answer has it.
        path: String,
        /// Some that there are.
        known: String,
    },
    /// More than one such file.
    #[error("{path} could be any of {known}\nhint: name files from the root of the repository")]
    AmbiguousPath {
        /// As the answer has it.
        path: String,
        /// Which.
        known: String,
    },
    /// The file has other lines.
    #[error("{label} is not in the file: {nearest}\nhint: quote the lines as they are in the file")]
    NotFound {
        /// Which edit.
        label: String,
        /// What is most like it.
        nearest: String,
    },
    /// The file has these lines more than once.
    #[error("{label} is in the file more than once: lines {lines}\nhint: quote more of the lines around it")]
    Ambiguous {
        /// Which edit.
        label: String,
        /// The first places.
        lines: String,
    },
    /// Only new lines, which could go anywhere.
    #[error("{label} quotes no line of the file\nhint: quote the lines before and after what is added")]
    NothingQuoted {
        /// Which edit.
        label: String,
    },
    /// Two edits of the same lines.
    #[error("{label} and {other} both change line {line}\nhint: write them as one")]
    Overlap {
        /// Which edit.
        label: String,
        /// Which other.
        other: String,
        /// Of the file.
        line: usize,
    },
    /// A character that a reviewer does not see, or a damaged one.
    #[error("{label} adds the character {character}, which cannot be seen and is not in the file so far")]
    Invisible {
        /// Which edit.
        label: String,
        /// Its code, such as `U+202E`.
        character: String,
    },
    /// A whole file that is not whole.
    #[error("{label} leaves something out: {text:?}\nhint: write a diff or a search block instead")]
    Elided {
        /// Which edit.
        label: String,
        /// The line.
        text: String,
    },
    /// A fence that may end at a fence of the file.
    #[error(
        "{label} has fences of its own, so its end is not certain\nhint: write a diff or a search block instead"
    )]
    UncertainEnd {
        /// Which edit.
        label: String,
    },
    /// Everything stays.
    #[error("the answer changes nothing: every file stays as it is")]
    NoChange,
}
