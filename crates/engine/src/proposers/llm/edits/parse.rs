//! Parser of answers: finds the edits in one pass over the lines, without backtracking.

use std::collections::BTreeMap;

use super::blocks::BlockMarker;
use super::edit::{AnswerEdit, EditChange};
use super::error::EditError;
use super::fence::AnswerFence;

/// Maximum length of an answer in bytes.
const LONGEST: usize = 2 * 1024 * 1024;
/// Maximum number of edits in an answer.
const MOST_EDITS: usize = 200;
/// Maximum characters of a line in an error.
const SHOWN: usize = 80;

/// The edits in an answer: hunks of unified diffs, search blocks, and whole files in fences with `path=`.
///
/// Truncated answers are detected by open fences, missing end markers and line counts that are not
/// reached. A diff with neither a fence nor counts has none of these: its caller must check the finish reason.
pub fn read(answer: &str) -> Result<Vec<AnswerEdit>, EditError> {
    if answer.len() > LONGEST {
        return Err(EditError::TooLong { bytes: answer.len(), limit: LONGEST });
    }
    let answer = without_reasoning(answer.trim_start_matches('\u{feff}'))?;
    let mut reader = AnswerEditParser::new(answer);
    while reader.at < reader.lines.len() {
        reader.step()?;
    }
    reader.finish()
}

/// Answer without its reasoning. Some servers drop the opening tag and keep the closing one.
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

/// State of the parser.
pub(super) struct AnswerEditParser<'a> {
    lines: Vec<&'a str>,
    pub(super) at: usize,
    pub(super) fence: Option<AnswerFence<'a>>,
    /// Last non-empty line outside edits.
    pub(super) previous: Option<&'a str>,
    /// File of the current diff, and the number of its hunks so far.
    pub(super) section: Option<(String, usize)>,
    edits: Vec<AnswerEdit>,
    numbers: BTreeMap<String, usize>,
}

impl<'a> AnswerEditParser<'a> {
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

    /// A line without the indentation of its fence.
    pub(super) fn line(&self, at: usize) -> Option<&'a str> {
        let line = *self.lines.get(at)?;
        let indent = self.fence.map_or(0, |fence| fence.indent);
        let columns = line.len() - line.trim_start_matches(' ').len();
        Some(&line[columns.min(indent)..])
    }

    fn step(&mut self) -> Result<(), EditError> {
        let Some(line) = self.line(self.at) else { return Ok(()) };
        if let Some(marker) = BlockMarker::of(line) {
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
        } else if let Some(fence) = AnswerFence::opened(line, self.edits.len()) {
            return self.open(fence);
        } else if !line.trim().is_empty() {
            self.previous = Some(line);
        }
        self.at += 1;
        Ok(())
    }

    /// Opens a fence: it contains a whole file, edits, or unrelated text.
    fn open(&mut self, fence: AnswerFence<'a>) -> Result<(), EditError> {
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
        self.push(AnswerEdit {
            path: path.to_owned(),
            label,
            change: EditChange::Whole(lines),
            notes: Vec::new(),
        })
    }

    fn begins_with_an_edit(&self) -> bool {
        let first = (self.at..self.lines.len()).find(|at| !self.lines[*at].trim().is_empty());
        first.is_some_and(|at| {
            let line = self.line(at).unwrap_or_default();
            BlockMarker::of(line).is_some()
                || line.starts_with("diff --git ")
                || line.starts_with("@@")
                || self.is_header(at)
        })
    }

    /// Name of the next edit of a file.
    pub(super) fn label(&mut self, kind: &str, path: &str) -> String {
        let number = self.numbers.entry(format!("{kind} {path}")).or_default();
        *number += 1;
        format!("{kind} {number} of {path}")
    }

    pub(super) fn push(&mut self, edit: AnswerEdit) -> Result<(), EditError> {
        if self.edits.len() == MOST_EDITS {
            return Err(EditError::TooMany { limit: MOST_EDITS });
        }
        self.edits.push(edit);
        self.previous = None;
        Ok(())
    }

    /// File of the last edit.
    pub(super) fn last_path(&self) -> Option<&str> {
        self.edits.last().map(|edit| edit.path.as_str())
    }

    /// Ends the diff of a file, which must have had a hunk.
    pub(super) fn end_section(&mut self) -> Result<(), EditError> {
        match self.section.take() {
            Some((path, 0)) => Err(EditError::NoHunks { path }),
            _ => Ok(()),
        }
    }

    fn finish(mut self) -> Result<Vec<AnswerEdit>, EditError> {
        self.end_section()?;
        let Some(last) = self.edits.last() else { return Err(EditError::NoEdits) };
        // The fence is still open, so edits may be missing.
        if self.fence.is_some_and(|fence| fence.before < self.edits.len()) {
            return Err(EditError::Unfinished { label: last.label.clone() });
        }
        Ok(self.edits)
    }
}

/// Start of a line, for an error.
pub(super) fn truncated_line(line: &str) -> String {
    let mut text: String = line.chars().take(SHOWN).collect();
    if text.len() < line.len() {
        text.push('…');
    }
    text
}
