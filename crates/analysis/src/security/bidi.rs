//! Control characters that make code look different from how it runs.

use menace_model::inventory::FindingSeverity::{High, Medium};

use super::report::{SecurityIssue, SecurityReport};
use crate::syntax::{ParsedPythonSource, TextRange, TextSize};

/// B613: the first line with a bidirectional control character.
pub(super) fn check(source: &ParsedPythonSource, report: &mut SecurityReport) {
    let Some((offset, control)) = first_control(source.text()) else { return };
    let message = format!("U+{:04X} changes the order in which code is shown", u32::from(control));
    let Ok(offset) = u32::try_from(offset) else { return };
    let place = TextSize::new(offset);
    // A `nosec` comment on the first line of the file suppresses the finding, as does one on its own line.
    let first_line = TextRange::empty(TextSize::new(0));
    report.add_within(
        SecurityIssue::new("B613", High, Medium, message).at(Some(place)),
        first_line,
        first_line,
    );
}

/// Almost all text is ASCII, which is skipped in chunks; every control character starts with the byte `E2`.
fn first_control(text: &str) -> Option<(usize, char)> {
    const CHUNK: usize = 64;
    let chunks = text.as_bytes().chunks(CHUNK).enumerate().filter(|(_, chunk)| !chunk.is_ascii());
    let starts = chunks.flat_map(|(number, chunk)| {
        let places = chunk.iter().enumerate().filter(|(_, byte)| **byte == 0xe2);
        places.map(move |(place, _)| number * CHUNK + place)
    });
    let letters = starts.filter_map(|start| Some((start, text.get(start..)?.chars().next()?)));
    letters.into_iter().find(|(_, letter)| is_bidirectional(*letter))
}

fn is_bidirectional(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200f}')
}
