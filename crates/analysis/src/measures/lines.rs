//! Line counts by content, as radon's `raw` counts them under Python 3.11.
//!
//! Radon reads a file in chunks: one logical line, or one line with nothing but a comment. Its logical lines are an
//! estimate made from the last colon of a chunk (`x: int = 1` counts twice); the maintainability index is defined by
//! that estimate, so it is kept.

use menace_model::inventory::LineCounts;

use crate::syntax::{LineIndex, ParsedPythonSource, Ranged, TextSize, TokenKind};

pub(crate) fn count_lines(source: &ParsedPythonSource) -> LineCounts {
    let mut counter = LineCounter::new(source);
    for token in source.tokens() {
        counter.token(token.kind(), token.start());
    }
    counter.finish()
}

struct LineCounter<'a> {
    source: &'a ParsedPythonSource,
    cursor: LineCursor<'a>,
    counts: LineCounts,
    chunk: LogicalLine,
    /// Number of f-strings open around the current token; radon counts an f-string as one string.
    open_f_strings: u32,
    lines_in_chunks: u32,
}

/// The logical line being read.
#[derive(Default)]
struct LogicalLine {
    first_line: Option<u32>,
    comments: u32,
    tokens: u32,
    only_string: bool,
    /// Tokens since the last semicolon, and the position of the last colon among them.
    part_tokens: u32,
    part_colon: Option<u32>,
    logical: u32,
}

impl LogicalLine {
    fn end_part(&mut self, is_last: bool) {
        // Radon compares with the position before the end marker, which only the last part of a chunk has.
        let before_end = (self.part_tokens + u32::from(is_last)).checked_sub(2);
        self.logical += match self.part_colon {
            Some(position) if Some(position) == before_end => 1,
            Some(_) => 2,
            None => u32::from(self.part_tokens > 0),
        };
        self.part_tokens = 0;
        self.part_colon = None;
    }
}

impl<'a> LineCounter<'a> {
    fn new(source: &'a ParsedPythonSource) -> Self {
        Self {
            source,
            cursor: LineCursor::new(source.lines()),
            counts: LineCounts { total: source.lines().count(source.text()), ..LineCounts::default() },
            chunk: LogicalLine::default(),
            open_f_strings: 0,
            lines_in_chunks: 0,
        }
    }

    fn token(&mut self, kind: TokenKind, start: TextSize) {
        match kind {
            TokenKind::Indent | TokenKind::Dedent | TokenKind::EndOfFile => {}
            TokenKind::NonLogicalNewline => {
                if self.chunk.first_line.is_some() && self.chunk.tokens == 0 {
                    self.end_chunk(start);
                }
            }
            TokenKind::Newline => self.end_chunk(start),
            TokenKind::Comment => {
                self.begin_chunk(start);
                self.chunk.comments += 1;
            }
            TokenKind::FStringStart | TokenKind::TStringStart => {
                if self.open_f_strings == 0 {
                    self.code(TokenKind::String, start);
                }
                self.open_f_strings += 1;
            }
            TokenKind::FStringEnd | TokenKind::TStringEnd => {
                self.open_f_strings = self.open_f_strings.saturating_sub(1);
            }
            _ if self.open_f_strings > 0 => {}
            _ => self.code(kind, start),
        }
    }

    fn begin_chunk(&mut self, start: TextSize) {
        if self.chunk.first_line.is_none() {
            self.chunk.first_line = Some(self.cursor.advance_to(start));
        }
    }

    fn code(&mut self, kind: TokenKind, start: TextSize) {
        self.begin_chunk(start);
        self.chunk.tokens += 1;
        self.chunk.only_string = kind == TokenKind::String && self.chunk.tokens == 1;
        match kind {
            TokenKind::Semi => self.chunk.end_part(false),
            TokenKind::Colon => {
                self.chunk.part_colon = Some(self.chunk.part_tokens);
                self.chunk.part_tokens += 1;
            }
            _ => self.chunk.part_tokens += 1,
        }
    }

    fn end_chunk(&mut self, end: TextSize) {
        let mut chunk = std::mem::take(&mut self.chunk);
        let Some(first_line) = chunk.first_line else { return };
        let last_line = self.cursor.advance_to(end).max(first_line);
        chunk.end_part(true);
        self.counts.logical += chunk.logical;
        self.counts.comments += chunk.comments;
        self.lines_in_chunks += last_line - first_line + 1;
        let is_comment = chunk.tokens == 0;
        let is_string = chunk.only_string && chunk.comments == 0;
        if is_comment || (is_string && first_line == last_line) {
            self.counts.single_comments += 1;
            return;
        }
        let blank = self.blank_lines(first_line, last_line);
        let filled = last_line - first_line + 1 - blank;
        self.counts.blank += blank;
        if is_string {
            self.counts.docstrings += filled;
        } else {
            self.counts.source += filled;
        }
    }

    fn blank_lines(&self, first: u32, last: u32) -> u32 {
        if first == last {
            return 0;
        }
        let starts = self.source.lines().starts();
        let line_text = |line: u32| {
            let start = starts[line as usize - 1] as usize;
            let end = starts.get(line as usize).map_or(self.source.text().len(), |start| *start as usize);
            &self.source.text()[start..end]
        };
        let blank = (first..=last)
            .filter(|line| line_text(*line).bytes().all(|byte| byte.is_ascii_whitespace()))
            .count();
        u32::try_from(blank).unwrap_or(u32::MAX)
    }

    fn finish(mut self) -> LineCounts {
        let end = TextSize::of(self.source.text());
        self.end_chunk(end);
        self.counts.blank += self.counts.total.saturating_sub(self.lines_in_chunks);
        self.counts
    }
}

/// Line lookup for increasing offsets: tokens come in order, so the search continues from the previous line.
struct LineCursor<'a> {
    starts: &'a [u32],
    line: usize,
}

impl<'a> LineCursor<'a> {
    fn new(lines: &'a LineIndex) -> Self {
        Self { starts: lines.starts(), line: 0 }
    }

    fn advance_to(&mut self, offset: TextSize) -> u32 {
        while self.starts.get(self.line + 1).is_some_and(|start| *start <= offset.to_u32()) {
            self.line += 1;
        }
        u32::try_from(self.line + 1).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[total, source, logical, comments, docstrings, single comments, blank]`, as printed by radon 6.0.1.
    fn check(text: &str, expected: [u32; 7]) {
        let counts = count_lines(&ParsedPythonSource::parse(text.to_owned()));
        let found = [
            counts.total,
            counts.source,
            counts.logical,
            counts.comments,
            counts.docstrings,
            counts.single_comments,
            counts.blank,
        ];
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn lines_count_as_in_radon() {
        check("", [0, 0, 0, 0, 0, 0, 0]);
        check("x = 1\n\n# c\ny = 2  # d\n", [4, 2, 2, 2, 0, 1, 1]);
        check("if a: return 0\n", [1, 1, 2, 0, 0, 0, 0]);
        check("x: int = 1; y = 2\n", [1, 1, 3, 0, 0, 0, 0]);
        check(
            "def f():\n    '''a\n\n    b'''\n    'one'\n    return [\n        1,\n\n        2]\n",
            [9, 4, 4, 0, 2, 1, 2],
        );
        check("f'{a:3}'\n", [1, 0, 1, 0, 0, 1, 0]);
    }
}
