//! Markdown fences, and the file names written next to them.

/// An open fence.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerFence<'a> {
    /// Indentation in columns; a fence in a list is indented.
    pub(super) indent: usize,
    mark: char,
    length: usize,
    /// Info string.
    pub(super) info: &'a str,
    /// Number of edits before it.
    pub(super) before: usize,
}

impl<'a> AnswerFence<'a> {
    /// Fence that a line opens, if any.
    pub(super) fn opened(line: &'a str, before: usize) -> Option<Self> {
        let rest = line.trim_start_matches(' ');
        let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let info = rest.trim_start_matches(mark);
        let length = rest.len() - info.len();
        // Inline code may begin with three ticks as well, but then it also ends with them.
        if length < 3 || info.contains('`') {
            return None;
        }
        Some(Self { indent: line.len() - rest.len(), mark, length, info: info.trim(), before })
    }

    /// Whether a line, without the indentation of the fence, closes it.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let rest = line.trim_end().trim_start_matches(self.mark);
        rest.is_empty() && line.trim_end().len() >= self.length
    }

    /// Path in `path=…` of the info string.
    pub(super) fn whole_file(&self) -> Option<&'a str> {
        self.info.split_whitespace().find_map(|word| {
            let (key, value) = word.split_once('=')?;
            let is_path = matches!(key, "path" | "file" | "filename");
            is_path.then(|| value.trim_matches(['"', '\'']))
        })
    }

    /// Any path in the info string.
    pub(super) fn path(&self) -> Option<&'a str> {
        let named = |word: &'a str| word.split_once(':').map_or(word, |(_, path)| path);
        self.whole_file().or_else(|| self.info.split_whitespace().map(named).find(|word| is_path(word)))
    }
}

/// File name that a line consists of, or the only one that it quotes in backticks.
pub(super) fn path_in(line: &str) -> Option<&str> {
    let plain = line.trim().trim_start_matches(['#', '*', '-', '>', ' ']);
    let plain = plain.strip_prefix("File:").or_else(|| plain.strip_prefix("file:")).unwrap_or(plain);
    let plain = plain.trim_matches(['`', '*', ':', '"', ' ']);
    if is_path(plain) {
        return Some(plain);
    }
    let mut quoted = line.split('`').skip(1).step_by(2).filter(|word| is_path(word));
    quoted.next().filter(|_| quoted.next().is_none())
}

fn is_path(word: &str) -> bool {
    let has_end = word.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && !end.is_empty());
    (has_end || word.contains('/')) && !word.contains(char::is_whitespace) && !word.contains(['(', ')', '='])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_found_in_prose() {
        let cases = [
            ("cart.py", Some("cart.py")),
            ("**shop/cart.py**:", Some("shop/cart.py")),
            ("### `shop/cart.py`", Some("shop/cart.py")),
            ("File: cart.py", Some("cart.py")),
            ("In `cart.py` the guard goes first:", Some("cart.py")),
            ("From `cart.py` to `money.py`:", None),
            ("Here is e.g. the fix.", None),
            ("", None),
        ];
        for (line, expect) in cases {
            assert_eq!(path_in(line), expect, "{line}");
        }
    }

    #[test]
    fn file_names_are_found_in_info_strings() {
        let path = |line| AnswerFence::opened(line, 0).and_then(|fence| fence.path());
        assert_eq!(path("```python path=cart.py"), Some("cart.py"));
        assert_eq!(path("```python cart.py"), Some("cart.py"));
        assert_eq!(path("~~~python:shop/cart.py"), Some("shop/cart.py"));
        assert_eq!(path("```cart.py"), Some("cart.py"));
        assert_eq!(path("```python"), None);
        assert!(AnswerFence::opened("```cart.py``` is short", 0).is_none());
    }
}
