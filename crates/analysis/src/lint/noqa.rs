//! `# noqa`: comments that suppress findings.

use menace_model::inventory::{LintFinding, LintRule};
use rustc_hash::FxHashMap;

use super::finding::UnfilteredFinding;
use crate::syntax::{ParsedPythonSource, Ranged, TextRange, TextSize, TokenKind};

/// Findings that no comment suppresses, sorted by line and rule.
pub(super) fn remove_suppressed(
    source: &ParsedPythonSource,
    mut found: Vec<UnfilteredFinding<'_>>,
) -> Vec<LintFinding> {
    if !found.is_empty() && mentions_noqa(source.text()) {
        let suppressions = NoqaSuppressions::read(source);
        found.retain(|finding| !suppressions.suppresses(source, finding));
    }
    let mut findings: Vec<(LintFinding, TextSize)> = found
        .into_iter()
        .map(|UnfilteredFinding { rule, offset, name, .. }| {
            (LintFinding { rule, line: source.line_of(offset), name: name.into_owned() }, offset)
        })
        .collect();
    findings.sort_by_key(|(finding, offset)| (finding.line, finding.rule, *offset));
    findings.into_iter().map(|(finding, _)| finding).collect()
}

/// Most files do not mention it, so their comments need not be parsed. `NOQA` and `NoQA` are common too.
fn mentions_noqa(text: &str) -> bool {
    let bytes = text.as_bytes();
    // `q` is the rarest of the four letters.
    memchr::memchr2_iter(b'q', b'Q', bytes)
        .filter(|index| *index >= 2)
        .any(|index| bytes.get(index - 2..index + 2).is_some_and(|word| word.eq_ignore_ascii_case(b"noqa")))
}

/// Codes of a rule in other linters.
fn codes(rule: LintRule) -> &'static [&'static str] {
    match rule {
        LintRule::UnusedImport => &["F401"],
        LintRule::UnusedVariable => &["F841"],
        LintRule::UndefinedName => &["F821"],
        LintRule::BareExcept => &["E722"],
        LintRule::MutableDefault => &["B006"],
        LintRule::ShadowedBuiltin => &["A001", "A002"],
        LintRule::UnreachableCode => &["PLW0101", "W0101"],
        LintRule::NoneComparison => &["E711"],
        LintRule::BoolComparison => &["E712"],
        LintRule::EmptyFString => &["F541"],
        LintRule::DuplicateKey => &["F601", "F602"],
        LintRule::SelfAssignment => &["PLW0127", "W0127"],
    }
}

/// Rules that one comment suppresses.
#[derive(Debug, PartialEq, Eq)]
enum NoqaDirective<'a> {
    Everything,
    Codes(Vec<&'a str>),
}

impl NoqaDirective<'_> {
    fn covers(&self, rule: LintRule) -> bool {
        match self {
            Self::Everything => true,
            Self::Codes(listed) => codes(rule).iter().any(|code| listed.contains(code)),
        }
    }
}

#[derive(Default)]
struct NoqaSuppressions<'a> {
    file: Vec<NoqaDirective<'a>>,
    lines: FxHashMap<u32, NoqaDirective<'a>>,
    /// First and last lines of spans that can have a comment only at their end: strings over several lines and lines
    /// joined by backslashes. In source order.
    spans: Vec<(u32, u32)>,
}

impl<'a> NoqaSuppressions<'a> {
    fn read(source: &'a ParsedPythonSource) -> Self {
        let mut suppressions = Self::default();
        let mut string_starts: Vec<TextSize> = Vec::new();
        let mut previous_end = TextSize::new(0);
        for token in source.tokens() {
            let range = token.range();
            let gap = TextRange::new(previous_end.min(range.start()), range.start());
            if source.slice(gap).contains('\\') {
                suppressions.add_span(source, gap.start(), gap.end());
            }
            previous_end = range.end();
            match token.kind() {
                TokenKind::Comment => suppressions.add_comment(source, range),
                TokenKind::String => suppressions.add_span(source, range.start(), range.end()),
                TokenKind::FStringStart | TokenKind::TStringStart => string_starts.push(range.start()),
                TokenKind::FStringEnd | TokenKind::TStringEnd => {
                    if let Some(start) = string_starts.pop() {
                        suppressions.add_span(source, start, range.end());
                    }
                }
                _ => {}
            }
        }
        suppressions
    }

    fn add_span(&mut self, source: &ParsedPythonSource, start: TextSize, end: TextSize) {
        let (first, last) = (source.line_of(start), source.line_of(end));
        if first == last {
            return;
        }
        let mut span = (first, last);
        // An earlier span that ends inside this one (a string in an f-string) or continues in it (joined lines) is merged.
        while let Some(earlier) = self.spans.pop_if(|earlier| earlier.1 >= first) {
            span = (span.0.min(earlier.0), span.1.max(earlier.1));
        }
        self.spans.push(span);
    }

    fn add_comment(&mut self, source: &'a ParsedPythonSource, range: TextRange) {
        let comment = source.slice(range);
        let line = source.line_of(range.start());
        if let Some(directive) = file_directive(comment) {
            if is_only_content_of_line(source, range.start()) {
                self.file.push(directive);
            }
        } else if let Some(directive) = line_directive(comment) {
            self.lines.insert(line, directive);
        }
    }

    fn suppresses(&self, source: &ParsedPythonSource, finding: &UnfilteredFinding<'_>) -> bool {
        self.file.iter().any(|directive| directive.covers(finding.rule))
            || self.line_suppresses(source.line_of(finding.offset), finding.rule)
            || finding
                .statement
                .is_some_and(|statement| self.line_suppresses(source.line_of(statement), finding.rule))
    }

    fn line_suppresses(&self, line: u32, rule: LintRule) -> bool {
        let line = match self.spans.get(self.spans.partition_point(|span| span.1 < line)) {
            Some((first, last)) if *first <= line => *last,
            _ => line,
        };
        self.lines.get(&line).is_some_and(|directive| directive.covers(rule))
    }
}

fn is_only_content_of_line(source: &ParsedPythonSource, start: TextSize) -> bool {
    let before = &source.text()[..usize::from(start)];
    before.rsplit(['\n', '\r']).next().is_none_or(|line| line.trim().is_empty())
}

/// `# ruff: noqa` or `# flake8: noqa`, with or without codes.
fn file_directive(comment: &str) -> Option<NoqaDirective<'_>> {
    let comment = comment.strip_prefix('#')?.trim_start();
    let rest = comment.strip_prefix("ruff").or_else(|| comment.strip_prefix("flake8"))?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let noqa = rest.get(..4)?;
    if noqa.eq_ignore_ascii_case("noqa") { directive(&rest[4..]) } else { None }
}

/// `# noqa` or `# noqa: F401, F841`, also after another comment.
fn line_directive(comment: &str) -> Option<NoqaDirective<'_>> {
    comment.match_indices('#').find_map(|(index, _)| {
        let rest = comment[index + 1..].trim_start();
        let noqa = rest.get(..4)?;
        if noqa.eq_ignore_ascii_case("noqa") { directive(&rest[4..]) } else { None }
    })
}

/// Parses the text after the word `noqa`. A malformed list suppresses nothing.
fn directive(rest: &str) -> Option<NoqaDirective<'_>> {
    if let Some(list) = rest.trim_start().strip_prefix(':') {
        return read_codes(list).map(NoqaDirective::Codes);
    }
    let ends = rest.is_empty() || rest.starts_with(|letter: char| letter.is_whitespace() || letter == '#');
    ends.then_some(NoqaDirective::Everything)
}

/// Codes separated by commas or blanks, up to the first word that is not a code.
fn read_codes(list: &str) -> Option<Vec<&str>> {
    let mut codes = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches(|letter: char| letter == ',' || letter.is_whitespace());
        let letters = rest.bytes().take_while(u8::is_ascii_uppercase).count();
        let digits = rest[letters..].bytes().take_while(u8::is_ascii_digit).count();
        if letters == 0 || digits == 0 {
            break;
        }
        let (code, after) = rest.split_at(letters + digits);
        let is_separated = |letter: char| {
            letter == ',' || letter == '#' || letter.is_whitespace() || letter.is_ascii_uppercase()
        };
        if !after.is_empty() && !after.starts_with(is_separated) {
            return None;
        }
        codes.push(code);
        rest = after;
    }
    (!codes.is_empty()).then_some(codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(comment: &str, expected: Option<&[&str]>) {
        let codes = line_directive(comment).map(|directive| match directive {
            NoqaDirective::Everything => vec![],
            NoqaDirective::Codes(codes) => codes,
        });
        assert_eq!(codes.as_deref(), expected, "{comment}");
    }

    #[test]
    fn bare_directives_suppress_all_rules() {
        for comment in ["# noqa", "#noqa", "# NoQA", "# type: ignore # noqa", "# noqa because", "## noqa"] {
            check(comment, Some(&[]));
        }
    }

    #[test]
    fn codes_are_read_up_to_the_first_other_word() {
        check("# noqa: F401", Some(&["F401"]));
        check("# noqa:F401,E501", Some(&["F401", "E501"]));
        check("# noqa : E501 F401 - reason", Some(&["E501", "F401"]));
        check("# noqa: F401, because, F821", Some(&["F401"]));
        check("# noqa: ,F821", Some(&["F821"]));
        check("# noqa:F821F401", Some(&["F821", "F401"]));
    }

    #[test]
    fn malformed_lists_suppress_nothing() {
        for comment in [
            "# about noqa",
            "# noqa:",
            "# noqa: f401",
            "# noqa: F",
            "# noqa-F401",
            "# noqax",
            "# noqa: F401;F821",
            "# é",
        ] {
            check(comment, None);
        }
    }
}
