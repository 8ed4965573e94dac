//! Search blocks: the existing lines between `<<<<<<< SEARCH` and `=======`, then their replacement.

use super::edit::{AnswerEdit, EditChange, replaced};
use super::error::EditError;
use super::fence::path_in;
use super::parse::{AnswerEditParser, truncated_line};

/// A marker line of a search block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockMarker<'a> {
    /// Start of a block. Some models write the file name after it.
    Head { length: usize, path: Option<&'a str> },
    /// End of a block.
    Tail,
    /// A similar line that is not a marker, such as a conflict marker of Git.
    Other,
}

impl<'a> BlockMarker<'a> {
    pub(super) fn of(line: &'a str) -> Option<Self> {
        if let Some((length, rest)) = run_of(line, '<') {
            let Some(path) = rest.strip_prefix("SEARCH") else { return Some(Self::Other) };
            let path = Some(path.trim()).filter(|path| !path.is_empty());
            return Some(Self::Head { length, path });
        }
        // Nested quotes in mails also begin with several `>`.
        let (_, rest) = run_of(line, '>')?;
        match rest {
            "REPLACE" => Some(Self::Tail),
            _ if rest.is_empty() || rest.contains(' ') => None,
            _ => Some(Self::Other),
        }
    }
}

/// Run of five to nine equal characters: its length, and the rest of the line.
fn run_of(line: &str, mark: char) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    let alone = rest.is_empty() || rest.starts_with(' ') || rest.starts_with(char::is_uppercase);
    ((5..=9).contains(&length) && alone).then(|| (length, rest.trim()))
}

impl<'a> AnswerEditParser<'a> {
    pub(super) fn marker(&mut self, marker: BlockMarker<'a>) -> Result<(), EditError> {
        let line = self.line(self.at).unwrap_or_default();
        match marker {
            BlockMarker::Head { length, path } => self.block(length, path),
            BlockMarker::Tail | BlockMarker::Other => {
                Err(EditError::StrayMarker { line: self.at + 1, text: truncated_line(line) })
            }
        }
    }

    fn block(&mut self, length: usize, named: Option<&'a str>) -> Result<(), EditError> {
        let near = named.or_else(|| self.previous.and_then(path_in));
        let path = near.or_else(|| self.fence.and_then(|fence| fence.path())).or_else(|| self.last_path());
        let path = path.ok_or(EditError::NoPath { line: self.at + 1 })?.to_owned();
        let label = self.label("block", &path);
        let lines = self.until_tail(&label)?;
        let divider =
            divider(&lines, length).map_err(|found| EditError::Divider { label: label.clone(), found })?;
        let lines = replaced(&lines[..divider], &lines[divider + 1..]);
        self.push(AnswerEdit { path, label, change: EditChange::Search(lines), notes: Vec::new() })
    }

    /// Lines up to the end of a block. Fences in a block are text of the file.
    fn until_tail(&mut self, label: &str) -> Result<Vec<&'a str>, EditError> {
        let mut lines = Vec::new();
        loop {
            self.at += 1;
            let line = self.line(self.at).ok_or_else(|| EditError::Unfinished { label: label.into() })?;
            match BlockMarker::of(line) {
                Some(BlockMarker::Tail) => break,
                Some(BlockMarker::Head { .. }) => {
                    return Err(EditError::Nested { label: label.into(), line: self.at + 1 });
                }
                Some(BlockMarker::Other) | None => lines.push(line),
            }
        }
        self.at += 1;
        Ok(lines)
    }
}

/// Index of the divider. Headings of reStructuredText are underlined with the same character, so of
/// several candidates the one with the length of the start marker counts.
fn divider(lines: &[&str], length: usize) -> Result<usize, usize> {
    let run = |line: &str| run_of(line, '=').filter(|(_, rest)| rest.is_empty()).map(|(length, _)| length);
    let found: Vec<(usize, usize)> =
        lines.iter().enumerate().filter_map(|(at, line)| Some((at, run(line)?))).collect();
    let same: Vec<usize> = found.iter().filter(|(_, run)| *run == length).map(|(at, _)| *at).collect();
    match (found.as_slice(), same.as_slice()) {
        ([(at, _)], _) | (_, [at]) => Ok(*at),
        _ => Err(found.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_five_to_nine_characters_long() {
        let head = |length| Some(BlockMarker::Head { length, path: None });
        assert_eq!(BlockMarker::of("<<<<<<< SEARCH"), head(7));
        assert_eq!(BlockMarker::of("<<<<< SEARCH  "), head(5));
        assert_eq!(BlockMarker::of("<<<<<<<<<SEARCH"), head(9));
        assert_eq!(BlockMarker::of("<<<< SEARCH"), None);
        assert_eq!(BlockMarker::of("<<<<<<<<<< SEARCH"), None);
        assert_eq!(
            BlockMarker::of("<<<<<<< SEARCH a.py"),
            Some(BlockMarker::Head { length: 7, path: Some("a.py") })
        );
        assert_eq!(BlockMarker::of(">>>>>>> REPLACE"), Some(BlockMarker::Tail));
        assert_eq!(BlockMarker::of(">>>>>>> REPLAC"), Some(BlockMarker::Other));
        assert_eq!(BlockMarker::of("<<<<<<< HEAD"), Some(BlockMarker::Other));
        assert_eq!(BlockMarker::of(">>>>> as he said"), None);
    }

    #[test]
    fn among_several_dividers_the_length_of_the_marker_decides() {
        assert_eq!(divider(&["a", "=======", "b"], 7), Ok(1));
        assert_eq!(divider(&["a", "=====", "b"], 7), Ok(1));
        assert_eq!(divider(&["Title", "=====", "=======", "b"], 7), Ok(2));
        assert_eq!(divider(&["a", "=======", "=======", "b"], 7), Err(2));
        assert_eq!(divider(&["a", "b"], 7), Err(0));
    }
}
