//! Docstrings: their first paragraph, and the exceptions they declare.

use crate::syntax::{Expr, Stmt};

const MAX_SUMMARY: usize = 300;

/// The docstring of a body, if its first statement is a string.
pub(crate) fn docstring_of(body: &[Stmt]) -> Option<&str> {
    match body.first()? {
        Stmt::Expr(statement) => match &*statement.value {
            Expr::StringLiteral(literal) => Some(literal.value.to_str()),
            _ => None,
        },
        _ => None,
    }
}

/// The first paragraph on one line.
pub(super) fn summary(docstring: &str) -> Option<String> {
    let lines = docstring.trim_start().lines().map(str::trim).take_while(|line| !line.is_empty());
    let mut text = String::new();
    for line in lines {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(line);
        if text.len() > MAX_SUMMARY {
            let end = (0..=MAX_SUMMARY).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
            break;
        }
    }
    (!text.is_empty()).then_some(text)
}

/// Exceptions declared in Sphinx (`:raises X:`), Google (`Raises:`) or NumPy (`Raises` underlined) style, sorted.
pub(super) fn declared_exceptions(docstring: &str) -> Vec<String> {
    if !(docstring.contains("aise") || docstring.contains("xcept")) {
        return Vec::new();
    }
    let lines: Vec<&str> = docstring.lines().collect();
    let mut names = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let text = line.trim();
        if let Some(declared) = sphinx_field(text) {
            names.extend(exception_names(declared));
        } else if text.eq_ignore_ascii_case("raises:") {
            names.extend(indented_entries(&lines[index + 1..], indentation(line) + 1));
        } else if text == "Raises" && lines.get(index + 1).is_some_and(|next| is_underline(next)) {
            names.extend(numpy_entries(&lines[index + 2..], indentation(line)));
        }
    }
    names.sort();
    names.dedup();
    names
}

/// `:raises ValueError: when …` and the epytext spelling `@raise ValueError: …`.
fn sphinx_field(line: &str) -> Option<&str> {
    let rest = line.strip_prefix([':', '@'])?;
    let after =
        ["raises ", "raise ", "exception ", "except "].iter().find_map(|word| rest.strip_prefix(word))?;
    after.split(':').next()
}

/// Google style: entries are indented deeper than the heading, and start with `Name:`.
fn indented_entries(lines: &[&str], at_least: usize) -> Vec<String> {
    let block = lines.iter().take_while(|line| line.trim().is_empty() || indentation(line) >= at_least);
    let filled: Vec<&&str> = block.filter(|line| !line.trim().is_empty()).collect();
    let Some(entry_indentation) = filled.first().map(|line| indentation(line)) else { return Vec::new() };
    filled
        .into_iter()
        .filter(|line| indentation(line) == entry_indentation)
        .filter_map(|line| line.split_once(':').map(|(name, _)| name))
        .flat_map(exception_names)
        .collect()
}

/// NumPy style: a name on a line of its own, its description indented below, until the next heading.
fn numpy_entries(lines: &[&str], heading_indentation: usize) -> Vec<String> {
    let mut names = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if lines.get(index + 1).is_some_and(|next| is_underline(next)) {
            break;
        }
        if !line.trim().is_empty() && indentation(line) <= heading_indentation {
            names.extend(exception_names(line.split(':').next().unwrap_or(line)));
        }
    }
    names
}

fn exception_names(text: &str) -> Vec<String> {
    text.split([',', '|', '/'])
        .flat_map(|part| part.split(" or "))
        .map(|part| part.trim().trim_matches('`').trim_start_matches('~').to_owned())
        .filter(|name| is_dotted_name(name))
        .collect()
}

fn is_dotted_name(name: &str) -> bool {
    !name.is_empty()
        && name.split('.').all(|part| {
            part.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
                && part.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        })
}

fn is_underline(line: &str) -> bool {
    let text = line.trim();
    text.len() >= 3 && text.bytes().all(|byte| byte == b'-')
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(docstring: &str, expected: &[&str]) {
        assert_eq!(declared_exceptions(docstring), expected, "{docstring}");
    }

    #[test]
    fn three_styles_declare_exceptions() {
        check(
            "Do.\n\n:raises ValueError: if odd\n:raise KeyError, os.error: never",
            &["KeyError", "ValueError", "os.error"],
        );
        check(
            "Do.\n\n    Raises:\n        ValueError: if odd\n            or even: always\n        TypeError: x\n\n    Returns:\n        int: y",
            &["TypeError", "ValueError"],
        );
        check(
            "Do.\n\nRaises\n------\nLinAlgError\n    If singular.\nValueError\n    Else.\n\nNotes\n-----\nText",
            &["LinAlgError", "ValueError"],
        );
    }

    #[test]
    fn prose_declares_nothing() {
        check("It raises the bar: always.", &[]);
        check("Raises:", &[]);
    }

    #[test]
    fn the_summary_is_the_first_paragraph() {
        assert_eq!(summary("\n  One\n  two.\n\n  Three."), Some("One two.".to_owned()));
        assert_eq!(summary("  \n"), None);
    }
}
