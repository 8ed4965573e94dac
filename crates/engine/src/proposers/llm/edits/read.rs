//! Finds the edits in an answer: one walk over its lines, which goes back nowhere.

use std::collections::BTreeMap;

use super::blocks::Marker;
use super::edit::{Change, Edit};
use super::error::EditError;
use super::fence::Fence;

/// Longer answers are not read.
const LONGEST: usize = 2 * 1024 * 1024;
/// Answers with more edits are not read.
const MOST_EDITS: usize = 200;
/// How much of a line an error shows.
const SHOWN: usize = 80;

/// The edits in an answer: hunks of unified diffs, search blocks, and whole files in fences with `path=`.
///
/// Whether an answer was cut off can be seen from open fences, missing ends and counts of lines that are
/// not reached. A diff with neither a fence nor counts has nothing of that: who asked knows better.
pub fn read(answer: &str) -> Result<Vec<Edit>, EditError> {
    if answer.len() > LONGEST {
        return Err(EditError::TooLong { bytes: answer.len(), limit: LONGEST });
    }
    let answer = without_reasoning(answer.trim_start_matches('\u{feff}'))?;
    let mut reader = Reader::new(answer);
    while reader.at < reader.lines.len() {
        reader.step()?;
    }
    reader.finish()
}

/// What follows the reasoning. Some servers swallow its beginning and leave its end.
fn without_reasoning(answer: &str) -> Result<&str, EditError> {
    let begun = ["think", "thinking"].iter().find(|tag| {
        let rest = answer.trim_start().strip_prefix('<').and_then(|rest| rest.strip_prefix(**tag));
        rest.is_some_and(|rest| rest.starts_with('>'))
    });
    let rest = match begun {
        Some(tag) => answer.split_once(&format!("</{tag}>")).ok_or(EditError::OnlyReasoning)?.1,
        None => answer,
    };
    let mut end = 0;
    let mut start = 0;
    for line in rest.split_inclusive('\n') {
        start += line.len();
        if matches!(line.trim(), "</think>" | "</thinking>") {
            end = start;
        }
    }
    Ok(&rest[end..])
}

/// Where the walk is, and what it knows so far.
pub(super) struct Reader<'a> {
    lines: Vec<&'a str>,
    pub(super) at: usize,
    pub(super) fence: Option<Fence<'a>>,
    /// The last line that is not empty and no edit.
    pub(super) previous: Option<&'a str>,
    /// The file that a diff is about, and how many hunks of it there were.
    pub(super) section: Option<(String, usize)>,
    edits: Vec<Edit>,
    numbers: BTreeMap<String, usize>,
}

impl<'a> Reader<'a> {
    fn new(answer: &'a str) -> Self {
        let mut lines: Vec<&str> =
            answer.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        if lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        Self {
            lines,
            at: 0,
            fence: None,
            previous: None,
            section: None,
            edits: Vec::new(),
            numbers: BTreeMap::new(),
        }
    }

    /// A line without the columns that its fence is indented by.
    pub(super) fn line(&self, at: usize) -> Option<&'a str> {
        let line = *self.lines.get(at)?;
        let indent = self.fence.map_or(0, |fence| fence.indent);
        let columns = line.len() - line.trim_start_matches(' ').len();
        Some(&line[columns.min(indent)..])
    }

    fn step(&mut self) -> Result<(), EditError> {
        let Some(line) = self.line(self.at) else { return Ok(()) };
        if let Some(marker) = Marker::of(line) {
            return self.marker(marker);
        }
        if line.starts_with("diff --git ") {
            return self.git_header();
        }
        if self.is_header(self.at) {
            return self.header();
        }
        if line.starts_with("@@") {
            return self.hunk();
        }
        if self.fence.is_some_and(|fence| fence.is_closed_by(line)) {
            self.fence = None;
        } else if let Some(fence) = Fence::opened(line, self.edits.len()) {
            return self.open(fence);
        } else if !line.trim().is_empty() {
            self.previous = Some(line);
        }
        self.at += 1;
        Ok(())
    }

    /// A fence either says which file is in it, or has edits in it, or is of no interest.
    fn open(&mut self, fence: Fence<'a>) -> Result<(), EditError> {
        self.fence = Some(fence);
        self.at += 1;
        let Some(path) = fence.whole_file().filter(|_| !self.begins_with_an_edit()) else { return Ok(()) };
        let label = format!("the fence of {path}");
        let mut lines = Vec::new();
        loop {
            let Some(line) = self.line(self.at) else { return Err(EditError::Unfinished { label }) };
            self.at += 1;
            if fence.is_closed_by(line) {
                break;
            }
            lines.push(line.to_owned());
        }
        self.fence = None;
        self.push(Edit { path: path.to_owned(), label, change: Change::Whole(lines), notes: Vec::new() })
    }

    fn begins_with_an_edit(&self) -> bool {
        let first = (self.at..self.lines.len()).find(|at| !self.lines[*at].trim().is_empty());
        first.is_some_and(|at| {
            let line = self.line(at).unwrap_or_default();
            Marker::of(line).is_some()
                || line.starts_with("diff --git ")
                || line.starts_with("@@")
                || self.is_header(at)
        })
    }

    /// What the next edit of a file is called.
    pub(super) fn label(&mut self, kind: &str, path: &str) -> String {
        let number = self.numbers.entry(format!("{kind} {path}")).or_default();
        *number += 1;
        format!("{kind} {number} of {path}")
    }

    pub(super) fn push(&mut self, edit: Edit) -> Result<(), EditError> {
        if self.edits.len() == MOST_EDITS {
            return Err(EditError::TooMany { limit: MOST_EDITS });
        }
        self.edits.push(edit);
        self.previous = None;
        Ok(())
    }

    /// The file of the last edit.
    pub(super) fn last_path(&self) -> Option<&str> {
        self.edits.last().map(|edit| edit.path.as_str())
    }

    /// Another file begins: the one before must have had a hunk.
    pub(super) fn end_section(&mut self) -> Result<(), EditError> {
        match self.section.take() {
            Some((path, 0)) => Err(EditError::NoHunks { path }),
            _ => Ok(()),
        }
    }

    fn finish(mut self) -> Result<Vec<Edit>, EditError> {
        self.end_section()?;
        let Some(last) = self.edits.last() else { return Err(EditError::NoEdits) };
        // There may have been more in a fence that is still open.
        if self.fence.is_some_and(|fence| fence.before < self.edits.len()) {
            return Err(EditError::Unfinished { label: last.label.clone() });
        }
        Ok(self.edits)
    }
}

/// The beginning of a line, for an error.
pub(super) fn shown(line: &str) -> String {
    let mut text: String = line.chars().take(SHOWN).collect();
    if text.len() < line.len() {
        text.push('…');
    }
    text
}
