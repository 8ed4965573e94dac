//! Applies edits to files.

use std::collections::BTreeMap;

use super::edit::{AnswerEdit, EditChange, EditLine, replaced};
use super::error::EditError;
use super::file_lines::{FileLines, LineSplice};
use super::file_names;
use super::location::{EditLocation, EditQuery, FileLineIndexes, locate_edit, reindent_line};

/// Changed files, and the tolerances that were needed to apply the edits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AppliedEdits {
    /// New text of each changed file.
    pub files: BTreeMap<String, String>,
    /// Tolerated differences, one line each. Empty if every edit matched exactly.
    pub audit: Vec<String>,
}

impl AppliedEdits {
    /// Adds notes, without duplicates.
    fn note(&mut self, notes: impl IntoIterator<Item = String>) {
        for note in notes {
            if !self.audit.contains(&note) {
                self.audit.push(note);
            }
        }
    }
}

/// Applies edits to the known files. All edits refer to the original text of the files.
pub fn apply(edits: &[AnswerEdit], files: &BTreeMap<String, String>) -> Result<AppliedEdits, EditError> {
    let mut applied = AppliedEdits::default();
    let mut by_file: BTreeMap<&str, Vec<&AnswerEdit>> = BTreeMap::new();
    for edit in edits {
        let (name, note) = file_names::resolve(&edit.path, files)?;
        applied.note(note);
        by_file.entry(name).or_default().push(edit);
    }
    for (name, edits) in by_file {
        let before = files.get(name).map_or("", String::as_str);
        let after = change(before, &edits, &mut applied)?;
        if after.trim().is_empty() && !before.trim().is_empty() {
            return Err(EditError::Deletion { path: name.into() });
        }
        if after != before {
            applied.files.insert(name.into(), after);
        }
    }
    if applied.files.is_empty() { Err(EditError::NoChange) } else { Ok(applied) }
}

fn change(before: &str, edits: &[&AnswerEdit], applied: &mut AppliedEdits) -> Result<String, EditError> {
    let text = FileLines::new(before);
    let views = FileLineIndexes::new(&text);
    let mut splices = Vec::new();
    // Offset of the previous edit from its stated line; the next one probably has the same.
    let mut drift = 0;
    for (at, edit) in edits.iter().enumerate() {
        refuse_invisible(edit, before)?;
        applied.note(edit.notes.iter().cloned());
        let (said, lines) = match &edit.change {
            EditChange::Hunk { line, lines } => (line.map(|line| line.saturating_sub(1)), lines.clone()),
            EditChange::Search(lines) => (None, lines.clone()),
            EditChange::Whole(lines) => (Some(0), whole(&edit.label, lines, &text)?),
        };
        if lines.iter().all(EditLine::is_kept) {
            applied.note([format!("{} changes nothing", edit.label)]);
            continue;
        }
        let near = said.map(|said| said.saturating_add_signed(drift));
        let wanted = EditQuery { label: &edit.label, lines: &lines, near, context: edit.change.context() };
        let place = locate_edit(&wanted, &views)?;
        if let Some(said) = said {
            // Line numbers of an answer can be arbitrarily large, hence the saturating arithmetic.
            drift = signed(place.start).saturating_sub(signed(said.saturating_add(place.left_out.0)));
            applied.note(offset(&edit.label, drift));
        }
        applied.note(place.notes.iter().cloned());
        splices.extend(splices_of(&lines, &place, at));
    }
    splices.sort_by_key(|splice: &LineSplice| (splice.start, splice.end));
    refuse_overlaps(&splices, edits)?;
    Ok(text.with(&splices))
}

fn signed(line: usize) -> isize {
    isize::try_from(line).unwrap_or(isize::MAX)
}

fn offset(label: &str, lines: isize) -> Option<String> {
    let word = if lines > 0 { "later" } else { "earlier" };
    let unit = if lines.abs() == 1 { "line" } else { "lines" };
    (lines != 0).then(|| format!("{label} was found {} {unit} {word}", lines.abs()))
}

/// Runs of removed and added lines, with their positions in the file.
fn splices_of(lines: &[EditLine], place: &EditLocation, edit: usize) -> Vec<LineSplice> {
    let (first, last) = place.left_out;
    let mut splices: Vec<LineSplice> = Vec::new();
    let mut at = place.start;
    let mut is_open = false;
    for line in &lines[first..lines.len() - last] {
        if line.is_kept() {
            at += 1;
            is_open = false;
            continue;
        }
        if !is_open {
            splices.push(LineSplice { start: at, end: at, lines: Vec::new(), edit });
            is_open = true;
        }
        let Some(splice) = splices.last_mut() else { continue };
        match line {
            EditLine::Add(text) => splice.lines.push(reindent_line(text, &place.shift)),
            EditLine::Keep(_) | EditLine::Remove(_) => {
                at += 1;
                splice.end = at;
            }
        }
    }
    splices
}

fn refuse_overlaps(splices: &[LineSplice], edits: &[&AnswerEdit]) -> Result<(), EditError> {
    let label = |splice: &LineSplice| edits[splice.edit].label.clone();
    let overlap = splices.windows(2).find(|pair| {
        let is_same_place = pair[0].start == pair[1].start;
        pair[1].start < pair[0].end || is_same_place
    });
    match overlap {
        Some(pair) => Err(EditError::Overlap {
            label: label(&pair[1]),
            other: label(&pair[0]),
            line: pair[1].start + 1,
        }),
        None => Ok(()),
    }
}

/// Converts a whole file to a change of the lines that differ. Files with elided parts are refused, because models tend to
/// leave out unchanged code.
fn whole(label: &str, lines: &[String], text: &FileLines<'_>) -> Result<Vec<EditLine>, EditError> {
    let is_elision = |line: &&String| {
        let comment = line.trim().strip_prefix('#').map(str::trim_start).unwrap_or_default();
        let is_left_out = ["...", "…", "rest of the", "existing code", "(unchanged", "unchanged"];
        // A lone ellipsis is a valid statement, but unlikely at module level.
        let is_said = line.as_str() == "..." || is_left_out.iter().any(|words| comment.starts_with(words));
        is_said && !text.lines.contains(&line.as_str())
    };
    if let Some(line) = lines.iter().find(is_elision) {
        return Err(EditError::Elided { label: label.into(), text: line.trim().into() });
    }
    if text.lines.iter().any(|line| line.starts_with("```") || line.starts_with("~~~")) {
        return Err(EditError::UncertainEnd { label: label.into() });
    }
    let new: Vec<&str> = lines.iter().map(String::as_str).collect();
    Ok(replaced(&text.lines, &new))
}

/// Refuses added bidirectional controls, invisible characters and replacement characters.
fn refuse_invisible(edit: &AnswerEdit, before: &str) -> Result<(), EditError> {
    let added: Vec<&str> = match &edit.change {
        EditChange::Hunk { lines, .. } | EditChange::Search(lines) => {
            lines.iter().filter(|line| !line.is_kept()).filter_map(EditLine::after).collect()
        }
        EditChange::Whole(lines) => lines.iter().map(String::as_str).collect(),
    };
    let mut letters = added.iter().flat_map(|line| line.chars());
    match letters.find(|letter| is_invisible(*letter) && !before.contains(*letter)) {
        Some(letter) => Err(EditError::Invisible {
            label: edit.label.clone(),
            character: format!("U+{:04X}", u32::from(letter)),
        }),
        None => Ok(()),
    }
}

fn is_invisible(letter: char) -> bool {
    let is_direction =
        matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}');
    let is_lost = matches!(letter, '\u{feff}' | '\u{fffd}' | '\u{2028}' | '\u{2029}');
    is_direction || is_lost || (letter.is_control() && !matches!(letter, '\t' | '\u{c}'))
}
