//! Extracts a case from a Markdown file.

use serde_json::Value;

use super::headings::{case_titles, lines_outside_fences};

/// A file of the repository that a case describes.
pub(super) struct CaseFile {
    pub(super) path: String,
    pub(super) content: Vec<u8>,
    pub(super) is_executable: bool,
}

/// One section of a Markdown file.
pub(super) struct MarkdownCase {
    /// Reason for the expectation.
    pub(super) prose: String,
    pub(super) files: Vec<CaseFile>,
    pub(super) expectation: Value,
}

impl MarkdownCase {
    /// Reads the section under the heading `## title`.
    pub(super) fn find(text: &str, title: &str) -> Self {
        let section = section(text, title);
        let (mut files, mut expectation) = (Vec::new(), None);
        for fence in fences(section) {
            match *fence.words.as_slice() {
                ["json", "scan"] => expectation = Some(parse_expectation(title, &fence.content)),
                [_language, path, ref options @ ..] => files.push(case_file(path, options, &fence.content)),
                _ => panic!("{title}: a fence names neither a file nor an expectation"),
            }
        }
        let prose: String = lines_outside_fences(section).map(|(_, line)| format!("{line}\n")).collect();
        assert!(!prose.trim().is_empty(), "{title}: no prose gives a reason");
        let expectation = expectation.unwrap_or_else(|| panic!("{title}: no expectation"));
        Self { prose, files, expectation }
    }
}

fn section<'a>(text: &'a str, title: &str) -> &'a str {
    let same = case_titles(text).into_iter().filter(|found| *found == title).count();
    assert_eq!(same, 1, "{title}: the title must be unique");
    let headings: Vec<(usize, &str)> =
        lines_outside_fences(text).filter(|(_, line)| line.starts_with("## ")).collect();
    let position =
        headings.iter().position(|(_, line)| line[3..].trim() == title).expect("it was counted above");
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(index, _)| index + 1)).collect();
    let end = headings.get(position + 1).map_or(text.len(), |(line, _)| starts[*line]);
    &text[starts[headings[position].0 + 1]..end]
}

struct CaseFence<'a> {
    words: Vec<&'a str>,
    content: String,
}

fn fences(section: &str) -> Vec<CaseFence<'_>> {
    let mut fences: Vec<CaseFence<'_>> = Vec::new();
    let mut is_inside = false;
    for line in section.lines() {
        match (line.strip_prefix("```"), is_inside) {
            (Some(information), false) => {
                fences.push(CaseFence {
                    words: information.split_whitespace().collect(),
                    content: String::new(),
                });
                is_inside = true;
            }
            (Some(_), true) => is_inside = false,
            (None, true) => {
                let open = fences.last_mut().expect("a line inside a fence follows its start");
                open.content.push_str(line);
                open.content.push('\n');
            }
            (None, false) => {}
        }
    }
    fences
}

fn parse_expectation(title: &str, text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{title}: the expectation is not JSON: {error}"))
}

/// `executable` sets the mode, `crlf` the line ends; `escaped` turns `\xe9` into the byte it names.
fn case_file(path: &str, options: &[&str], text: &str) -> CaseFile {
    let text = if options.contains(&"crlf") { text.replace('\n', "\r\n") } else { text.to_owned() };
    let content = if options.contains(&"escaped") { unescape(&text) } else { text.into_bytes() };
    CaseFile { path: path.to_owned(), content, is_executable: options.contains(&"executable") }
}

fn unescape(text: &str) -> Vec<u8> {
    let mut pieces = text.split("\\x");
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).expect("two hexadecimal digits follow \\x"));
        bytes.extend(rest.as_bytes());
    }
    bytes
}
