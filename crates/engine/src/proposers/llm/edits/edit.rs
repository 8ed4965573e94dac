//! Edits of an answer, each of one location in a file.

/// One hunk of a diff, one search block, or one whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerEdit {
    /// The file, as the answer names it.
    pub path: String,
    /// Name of the edit in messages, such as `hunk 2 of cart.py`.
    pub label: String,
    /// The change.
    pub change: EditChange,
    /// Tolerated defects of its format.
    pub notes: Vec<String>,
}

/// A change of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditChange {
    /// A hunk, including context lines.
    Hunk {
        /// Stated number of its first line, counted from 1.
        line: Option<usize>,
        /// Changed lines and context lines.
        lines: Vec<EditLine>,
    },
    /// A search block, all of whose old lines must exist. Common lines at its start and end are kept.
    Search(Vec<EditLine>),
    /// The whole text of the file.
    Whole(Vec<String>),
}

/// Kind of lines that are context only and may differ from the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditContextKind {
    /// Lines around a change.
    Around,
    /// Empty lines around a change: all others were quoted as existing lines.
    Empty,
}

impl EditChange {
    pub(super) fn context(&self) -> EditContextKind {
        match self {
            Self::Hunk { .. } => EditContextKind::Around,
            Self::Search(_) | Self::Whole(_) => EditContextKind::Empty,
        }
    }
}

/// A line without its line ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditLine {
    /// Existing line that stays.
    Keep(String),
    /// Existing line that is removed.
    Remove(String),
    /// New line.
    Add(String),
}

impl EditLine {
    /// Text, if the line is in the old file.
    pub(super) fn before(&self) -> Option<&str> {
        match self {
            Self::Keep(text) | Self::Remove(text) => Some(text),
            Self::Add(_) => None,
        }
    }

    /// Text, if the line is in the new file.
    pub(super) fn after(&self) -> Option<&str> {
        match self {
            Self::Keep(text) | Self::Add(text) => Some(text),
            Self::Remove(_) => None,
        }
    }

    /// Whether the line stays.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, Self::Keep(_))
    }

    /// Whether the line is context only.
    pub(super) fn is_context(&self, context: EditContextKind) -> bool {
        match (self, context) {
            (Self::Keep(_), EditContextKind::Around) => true,
            (Self::Keep(text), EditContextKind::Empty) => text.trim().is_empty(),
            (Self::Remove(_) | Self::Add(_), _) => false,
        }
    }
}

/// Replacement of lines by others. Common lines at the start and the end are kept.
pub(super) fn replaced(old: &[&str], new: &[&str]) -> Vec<EditLine> {
    let shorter = old.len().min(new.len());
    let first = (0..shorter).take_while(|at| old[*at] == new[*at]).count();
    let last =
        (1..=shorter - first).take_while(|back| old[old.len() - back] == new[new.len() - back]).count();
    let keep = |line: &&str| EditLine::Keep((*line).to_owned());
    let removed = old[first..old.len() - last].iter().map(|line| EditLine::Remove((*line).to_owned()));
    let added = new[first..new.len() - last].iter().map(|line| EditLine::Add((*line).to_owned()));
    let before = old[..first].iter().map(keep);
    before.chain(removed).chain(added).chain(old[old.len() - last..].iter().map(keep)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_lines_at_the_ends_are_kept() {
        let lines = replaced(&["a", "b", "c"], &["a", "x", "y", "c"]);
        let text = |text: &str| text.to_owned();
        assert_eq!(
            lines,
            [
                EditLine::Keep(text("a")),
                EditLine::Remove(text("b")),
                EditLine::Add(text("x")),
                EditLine::Add(text("y")),
                EditLine::Keep(text("c")),
            ]
        );
    }

    #[test]
    fn a_line_is_not_kept_twice() {
        assert_eq!(replaced(&["a"], &["a", "a"]), [EditLine::Keep("a".into()), EditLine::Add("a".into())]);
        assert_eq!(replaced(&["a", "a"], &["a"]), [EditLine::Keep("a".into()), EditLine::Remove("a".into())]);
    }
}
