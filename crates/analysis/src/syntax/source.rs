//! A parsed Python file.

use ruff_python_ast::token::Token;
use ruff_python_ast::{ModModule, PySourceType};
use ruff_python_parser::{Parsed, parse_unchecked_source};

use super::nesting::{self, MAX_NESTING};
use super::{LineIndex, Ranged, Stmt, TextRange, TextSize};

/// Text of a file with its tokens and its tree. Broken Python yields errors and a partial tree.
pub(crate) struct ParsedPythonSource {
    text: String,
    lines: LineIndex,
    parsed: Parsed<ModModule>,
    too_deep: bool,
}

impl ParsedPythonSource {
    /// Parses `text`. Text that nests so deeply that walking its tree could exhaust the stack is not parsed.
    pub(crate) fn parse(text: String) -> Self {
        let too_deep = nesting::is_too_deep(&text);
        let parsed = parse_unchecked_source(if too_deep { "" } else { &text }, PySourceType::Python);
        let lines = LineIndex::new(&text);
        Self { text, lines, parsed, too_deep }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn body(&self) -> &[Stmt] {
        &self.parsed.syntax().body
    }

    pub(crate) fn tokens(&self) -> &[Token] {
        self.parsed.tokens()
    }

    /// The text of a node or token.
    pub(crate) fn slice(&self, node: impl Ranged) -> &str {
        let range: TextRange = node.range();
        &self.text[usize::from(range.start())..usize::from(range.end())]
    }

    /// The line, counted from 1, on which an offset lies.
    pub(crate) fn line_of(&self, offset: TextSize) -> u32 {
        self.lines.line_of(offset)
    }

    /// The first line of a node.
    pub(crate) fn first_line(&self, node: impl Ranged) -> u32 {
        self.lines.line_of(node.start())
    }

    /// The last line that a node touches.
    pub(crate) fn last_line(&self, node: impl Ranged) -> u32 {
        let last_byte = node.end().to_u32().saturating_sub(1).max(node.start().to_u32());
        self.lines.line_of(TextSize::new(last_byte))
    }

    pub(crate) fn lines(&self) -> &LineIndex {
        &self.lines
    }

    /// Whether the whole file parsed.
    pub(crate) fn is_valid(&self) -> bool {
        !self.too_deep && self.parsed.has_valid_syntax()
    }

    /// Syntax errors as (line, message).
    pub(crate) fn errors(&self) -> Vec<(u32, String)> {
        if self.too_deep {
            return vec![(1, format!("nested more than {MAX_NESTING} levels deep, not parsed"))];
        }
        self.parsed
            .errors()
            .iter()
            .map(|error| (self.line_of(error.location.start()), format!("syntax error: {}", error.error)))
            .collect()
    }
}
