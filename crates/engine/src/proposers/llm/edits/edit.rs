//! What an answer wants to be different in one place.

/// One hunk of a diff, one search block, or one whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file, as the answer names it.
    pub path: String,
    /// What the edit is called in messages, such as `hunk 2 of cart.py`.
    pub label: String,
    /// What is to be different.
    pub change: Change,
    /// What had to be overlooked to read it.
    pub notes: Vec<String>,
}

/// What is to be different.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Lines, some of which are only there to show the place.
    Hunk {
        /// Where the first of them is said to be, counted from 1.
        line: Option<usize>,
        /// The lines, with those around them.
        lines: Vec<Line>,
    },
    /// Lines, all of which were said to be there. What both sides begin and end with is kept.
    Search(Vec<Line>),
    /// The file, all of it.
    Whole(Vec<String>),
}

/// Which lines only show the place, so that the file may have others there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// Those around a change.
    Around,
    /// Empty ones around a change: the rest was quoted as what is there.
    Empty,
}

impl Change {
    pub(super) fn context(&self) -> Context {
        match self {
            Self::Hunk { .. } => Context::Around,
            Self::Search(_) | Self::Whole(_) => Context::Empty,
        }
    }
}

/// A line without its ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// It is there and stays.
    Keep(String),
    /// It is there and goes.
    Remove(String),
    /// It comes.
    Add(String),
}

impl Line {
    /// Its text, if the file should have it now.
    pub(super) fn before(&self) -> Option<&str> {
        match self {
            Self::Keep(text) | Self::Remove(text) => Some(text),
            Self::Add(_) => None,
        }
    }

    /// Its text, if the file should have it afterwards.
    pub(super) fn after(&self) -> Option<&str> {
        match self {
            Self::Keep(text) | Self::Add(text) => Some(text),
            Self::Remove(_) => None,
        }
    }

    /// Whether it stays.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, Self::Keep(_))
    }

    /// Whether it is there only so that the place is found.
    pub(super) fn shows_the_place(&self, context: Context) -> bool {
        match (self, context) {
            (Self::Keep(_), Context::Around) => true,
            (Self::Keep(text), Context::Empty) => text.trim().is_empty(),
            (Self::Remove(_) | Self::Add(_), _) => false,
        }
    }
}

/// Some lines in the place of others. What both begin and end with stays as the file has it.
pub(super) fn replaced(old: &[&str], new: &[&str]) -> Vec<Line> {
    let shorter = old.len().min(new.len());
    let first = (0..shorter).take_while(|at| old[*at] == new[*at]).count();
    let last =
        (1..=shorter - first).take_while(|back| old[old.len() - back] == new[new.len() - back]).count();
    let keep = |line: &&str| Line::Keep((*line).to_owned());
    let removed = old[first..old.len() - last].iter().map(|line| Line::Remove((*line).to_owned()));
    let added = new[first..new.len() - last].iter().map(|line| Line::Add((*line).to_owned()));
    let before = old[..first].iter().map(keep);
    before.chain(removed).chain(added).chain(old[old.len() - last..].iter().map(keep)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_have_at_the_ends_is_kept() {
        let lines = replaced(&["a", "b", "c"], &["a", "x", "y", "c"]);
        let text = |text: &str| text.to_owned();
        assert_eq!(
            lines,
            [
                Line::Keep(text("a")),
                Line::Remove(text("b")),
                Line::Add(text("x")),
                Line::Add(text("y")),
                Line::Keep(text("c")),
            ]
        );
    }

    #[test]
    fn a_line_is_not_kept_twice() {
        assert_eq!(replaced(&["a"], &["a", "a"]), [Line::Keep("a".into()), Line::Add("a".into())]);
        assert_eq!(replaced(&["a", "a"], &["a"]), [Line::Keep("a".into()), Line::Remove("a".into())]);
    }
}
