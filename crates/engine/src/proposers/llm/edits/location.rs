//! Location of an edit in a file. Each matching step is more tolerant than the previous one and adds a note.

use super::edit::{EditContextKind, EditLine};
use super::error::EditError;
use super::file_lines::{FileLineIndex, FileLines};
use super::nearest_match::nearest;

/// Maximum number of context lines at the ends of an edit that may differ from the file.
const FUZZ: usize = 2;
/// Maximum number of matches, ignoring indentation, that are examined one by one.
const MANY: usize = 200;
/// Maximum number of locations in an error.
const SHOWN: usize = 4;

/// Indexes of the lines of a file: exact, without trailing and without surrounding white space.
pub(super) struct FileLineIndexes<'a> {
    pub(super) text: &'a FileLines<'a>,
    exact: FileLineIndex<'a>,
    ended: FileLineIndex<'a>,
    pub(super) bare: FileLineIndex<'a>,
}

impl<'a> FileLineIndexes<'a> {
    pub(super) fn new(text: &'a FileLines<'a>) -> Self {
        Self {
            text,
            exact: FileLineIndex::new(&text.lines, |line| line),
            ended: FileLineIndex::new(&text.lines, str::trim_end),
            bare: FileLineIndex::new(&text.lines, str::trim),
        }
    }
}

/// Difference in indentation between the file and the edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IndentShift {
    None,
    In(String),
    Out(String),
}

/// Location of an edit.
#[derive(Debug)]
pub(super) struct EditLocation {
    /// Position of the first line that is not left out.
    pub(super) start: usize,
    pub(super) shift: IndentShift,
    /// Number of context lines left out at the start and at the end.
    pub(super) left_out: (usize, usize),
    /// Tolerated differences.
    pub(super) notes: Vec<String>,
}

impl EditLocation {
    fn at(start: usize, notes: Vec<String>) -> Self {
        Self { start, shift: IndentShift::None, left_out: (0, 0), notes }
    }
}

/// An edit to locate.
pub(super) struct EditQuery<'a> {
    pub(super) label: &'a str,
    pub(super) lines: &'a [EditLine],
    /// Expected position, if known.
    pub(super) near: Option<usize>,
    pub(super) context: EditContextKind,
}

/// Locates the lines of an edit.
pub(super) fn locate_edit(
    wanted: &EditQuery<'_>,
    views: &FileLineIndexes<'_>,
) -> Result<EditLocation, EditError> {
    let EditQuery { label, lines, near, .. } = *wanted;
    let old: Vec<&str> = lines.iter().filter_map(EditLine::before).collect();
    if old.is_empty() && views.text.lines.is_empty() {
        return Ok(EditLocation::at(0, Vec::new()));
    }
    let one = |places: &[usize]| one_of(label, places, near);
    let (exact, ended) = (views.exact.find(&old), views.ended.find(&old));
    let spaces = || vec![format!("white space at the ends of lines of {label} is not as in the file")];
    if let Some(near) = near.filter(|near| ended.contains(near)) {
        let notes = if exact.contains(&near) { Vec::new() } else { spaces() };
        return Ok(EditLocation::at(near, notes));
    }
    if old.iter().all(|line| line.trim().is_empty()) {
        return Err(EditError::NothingQuoted { label: label.into() });
    }
    if let Some(start) = one(&exact)? {
        return Ok(EditLocation::at(start, Vec::new()));
    }
    if let Some(start) = one(&ended)? {
        return Ok(EditLocation::at(start, spaces()));
    }
    if let Some(place) = shifted(wanted, &old, views)? {
        return Ok(place);
    }
    if let Some(place) = with_less_context(wanted, views)? {
        return Ok(place);
    }
    Err(EditError::NotFound { label: label.into(), nearest: nearest(&old, views) })
}

/// The only location, or the one nearest to the expected position.
fn one_of(label: &str, places: &[usize], near: Option<usize>) -> Result<Option<usize>, EditError> {
    let distance = |place: &usize| near.map_or(0, |near| near.abs_diff(*place));
    let Some(best) = places.iter().map(distance).min() else { return Ok(None) };
    let mut closest = places.iter().filter(|place| distance(place) == best);
    match (closest.next(), closest.next()) {
        (Some(place), None) => Ok(Some(*place)),
        _ => Err(ambiguous(label, places)),
    }
}

fn ambiguous(label: &str, places: &[usize]) -> EditError {
    let mut lines: Vec<String> = places.iter().take(SHOWN).map(|place| (place + 1).to_string()).collect();
    if places.len() > SHOWN {
        lines.push("…".into());
    }
    EditError::Ambiguous { label: label.into(), lines: lines.join(", ") }
}

fn shifted(
    wanted: &EditQuery<'_>,
    old: &[&str],
    views: &FileLineIndexes<'_>,
) -> Result<Option<EditLocation>, EditError> {
    let EditQuery { label, lines, near, .. } = *wanted;
    let places = views.bare.find(old);
    if places.len() > MANY {
        return Err(ambiguous(label, &places));
    }
    let shift = |place: usize| shift_of(old, &views.text.lines[place..place + old.len()], lines);
    let places: Vec<usize> = places.into_iter().filter(|place| shift(*place).is_some()).collect();
    let Some(start) = one_of(label, &places, near)? else { return Ok(None) };
    let Some(shift) = shift(start) else { return Ok(None) };
    let (white, word) = match &shift {
        IndentShift::In(white) => (white.as_str(), "less"),
        IndentShift::Out(white) => (white.as_str(), "more"),
        IndentShift::None => ("", "less"),
    };
    let unit = if white.contains('\t') { "tabs and spaces" } else { "columns" };
    let note = format!("indentation of {label} was {} {unit} {word}", white.len());
    Ok(Some(EditLocation { start, shift, left_out: (0, 0), notes: vec![note] }))
}

/// Common difference in indentation, if it is the same for all lines and
/// can be applied to the added lines.
fn shift_of(old: &[&str], there: &[&str], lines: &[EditLine]) -> Option<IndentShift> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut pairs = old.iter().zip(there).filter(|(line, _)| !line.trim().is_empty());
    let one = |line: &str, there: &str| -> Option<IndentShift> {
        let (line, there) = (&line[..indent(line)], &there[..indent(there)]);
        let more = there.strip_suffix(line).map(|white| IndentShift::In(white.into()));
        more.or_else(|| line.strip_suffix(there).map(|white| IndentShift::Out(white.into())))
    };
    let (line, first) = pairs.next()?;
    let shift = one(line, first)?;
    if !pairs.all(|(line, there)| one(line, there).as_ref() == Some(&shift)) {
        return None;
    }
    let mut added = lines.iter().filter_map(|line| match line {
        EditLine::Add(text) if !text.trim().is_empty() => Some(text),
        _ => None,
    });
    match &shift {
        IndentShift::Out(white) if !added.all(|line| line.starts_with(white.as_str())) => None,
        _ => Some(shift),
    }
}

/// An added line with the indentation of the lines around it.
pub(super) fn reindent_line(line: &str, shift: &IndentShift) -> String {
    match shift {
        IndentShift::In(white) if !line.trim().is_empty() => format!("{white}{line}"),
        IndentShift::Out(white) => line.strip_prefix(white.as_str()).unwrap_or(line.trim_start()).to_owned(),
        IndentShift::In(_) | IndentShift::None => line.to_owned(),
    }
}

/// Leaves out context lines at the ends. The remaining lines must occur once in the file.
fn with_less_context(
    wanted: &EditQuery<'_>,
    views: &FileLineIndexes<'_>,
) -> Result<Option<EditLocation>, EditError> {
    let EditQuery { label, lines, context, .. } = *wanted;
    let before = lines.iter().take_while(|line| line.is_context(context)).count();
    let after = lines.iter().rev().take_while(|line| line.is_context(context)).count();
    for fuzz in 1..=FUZZ {
        let mut found: Vec<(usize, (usize, usize))> = Vec::new();
        let ways = (0..=fuzz).map(|last| (fuzz - last, last));
        for (first, last) in ways.filter(|(first, last)| *first <= before && *last <= after) {
            let Some(rest) = lines.get(first..lines.len() - last) else { continue };
            let old: Vec<&str> = rest.iter().filter_map(EditLine::before).collect();
            if old.iter().all(|line| line.trim().is_empty()) {
                continue;
            }
            found.extend(views.ended.find(&old).into_iter().map(|start| (start, (first, last))));
        }
        let beginnings: Vec<usize> = found.iter().map(|(start, _)| *start).collect();
        match found.as_slice() {
            [] => {}
            [(start, left_out)] => {
                let note = format!("{label} was found without {}", described(*left_out));
                return Ok(Some(EditLocation {
                    start: *start,
                    shift: IndentShift::None,
                    left_out: *left_out,
                    notes: vec![note],
                }));
            }
            _ => return Err(ambiguous(label, &beginnings)),
        }
    }
    Ok(None)
}

fn described((first, last): (usize, usize)) -> String {
    let lines = |count: usize, which: &str| match count {
        0 => None,
        1 => Some(format!("its {which} line of context")),
        _ => Some(format!("its {which} {count} lines of context")),
    };
    let parts: Vec<String> = [lines(first, "first"), lines(last, "last")].into_iter().flatten().collect();
    parts.join(" and ")
}
