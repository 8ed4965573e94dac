//! Lines of a file: searching and replacing them with their line endings preserved.

use std::collections::HashMap;

/// A file as lines, with their line endings.
pub(super) struct FileLines<'a> {
    mark: &'static str,
    /// Lines without line endings.
    pub(super) lines: Vec<&'a str>,
    ends: Vec<&'a str>,
    /// Line ending of new lines.
    end: &'static str,
}

/// Replacement of the lines from `start` to `end`.
pub(super) struct LineSplice {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) lines: Vec<String>,
    /// Index of its edit.
    pub(super) edit: usize,
}

impl<'a> FileLines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let (mark, text) = text.strip_prefix('\u{feff}').map_or(("", text), |rest| ("\u{feff}", rest));
        let (lines, ends): (Vec<&str>, Vec<&str>) = text.split_inclusive('\n').map(parted).unzip();
        let windows = ends.iter().filter(|end| **end == "\r\n").count();
        let end = if windows * 2 > lines.len() { "\r\n" } else { "\n" };
        Self { mark, lines, ends, end }
    }

    /// Text with splices applied, which must be sorted and must not overlap.
    pub(super) fn with(&self, splices: &[LineSplice]) -> String {
        let mut parts: Vec<(&str, &str)> = Vec::new();
        let mut at = 0;
        for splice in splices {
            parts.extend(self.part(at, splice.start));
            parts.extend(splice.lines.iter().map(|line| (line.as_str(), self.end)));
            at = splice.end;
        }
        parts.extend(self.part(at, self.lines.len()));
        self.joined(&parts)
    }

    fn part(&self, start: usize, end: usize) -> impl Iterator<Item = (&str, &str)> {
        self.lines[start..end].iter().copied().zip(self.ends[start..end].iter().copied())
    }

    fn joined(&self, parts: &[(&str, &str)]) -> String {
        let is_ended = self.ends.last().is_none_or(|end| !end.is_empty());
        let mut text = self.mark.to_owned();
        for (at, (line, end)) in parts.iter().enumerate() {
            let is_last = at + 1 == parts.len();
            text.push_str(line);
            text.push_str(match *end {
                _ if is_last && !is_ended => "",
                "" => self.end,
                end => end,
            });
        }
        text
    }
}

fn parted(line: &str) -> (&str, &str) {
    let plain = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
    (plain, &line[plain.len()..])
}

/// Lines mapped to numbers, equal for lines with equal keys, so that comparing lines takes constant time.
pub(super) struct FileLineIndex<'a> {
    key: fn(&str) -> &str,
    numbers: HashMap<&'a str, u32>,
    lines: Vec<u32>,
}

impl<'a> FileLineIndex<'a> {
    pub(super) fn new(lines: &[&'a str], key: fn(&str) -> &str) -> Self {
        let mut numbers = HashMap::new();
        let mut numbered = Vec::with_capacity(lines.len());
        for line in lines {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            numbered.push(*numbers.entry(key(line)).or_insert(next));
        }
        Self { key, numbers, lines: numbered }
    }

    /// All positions of consecutive lines (Knuth-Morris-Pratt, linear for files of equal lines too).
    pub(super) fn find(&self, wanted: &[&str]) -> Vec<usize> {
        let numbers: Option<Vec<u32>> =
            wanted.iter().map(|line| self.numbers.get((self.key)(line)).copied()).collect();
        match numbers {
            Some(wanted) if !wanted.is_empty() => places(&self.lines, &wanted),
            _ => Vec::new(),
        }
    }

    /// All positions of a line.
    pub(super) fn find_line(&self, line: &str) -> impl Iterator<Item = usize> {
        let number = self.numbers.get((self.key)(line)).copied();
        self.lines.iter().enumerate().filter(move |(_, line)| Some(**line) == number).map(|(at, _)| at)
    }
}

fn places(lines: &[u32], wanted: &[u32]) -> Vec<usize> {
    let mut borders = vec![0; wanted.len()];
    let mut matched = 0;
    for at in 1..wanted.len() {
        while matched > 0 && wanted[at] != wanted[matched] {
            matched = borders[matched - 1];
        }
        matched += usize::from(wanted[at] == wanted[matched]);
        borders[at] = matched;
    }
    let mut found = Vec::new();
    matched = 0;
    for (at, line) in lines.iter().enumerate() {
        while matched > 0 && (matched == wanted.len() || *line != wanted[matched]) {
            matched = borders[matched - 1];
        }
        matched += usize::from(*line == wanted[matched]);
        if matched == wanted.len() {
            found.push(at + 1 - matched);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_positions_of_lines_are_found() {
        let lines = ["a", "a", "b", "a", "a", "a", "b"];
        let view = FileLineIndex::new(&lines, |line| line);
        let slow = |wanted: &[&str]| -> Vec<usize> {
            let all = lines.windows(wanted.len()).enumerate();
            all.filter(|(_, window)| *window == wanted).map(|(at, _)| at).collect()
        };
        for wanted in [&["a"][..], &["a", "a"], &["a", "b"], &["a", "a", "b"], &["b", "a", "a"], &["c"]] {
            assert_eq!(view.find(wanted), slow(wanted), "{wanted:?}");
        }
    }

    #[test]
    fn line_endings_are_preserved() {
        let put = |text: &str, start, end| {
            FileLines::new(text).with(&[LineSplice {
                start,
                end,
                lines: vec!["x".into(), "y".into()],
                edit: 0,
            }])
        };
        assert_eq!(put("a\r\nb\r\n", 1, 2), "a\r\nx\r\ny\r\n");
        assert_eq!(put("a\nb", 1, 2), "a\nx\ny");
        assert_eq!(put("a\nb", 2, 2), "a\nb\nx\ny");
        assert_eq!(put("a\nb", 0, 1), "x\ny\nb");
        assert_eq!(put("", 0, 0), "x\ny\n");
        assert_eq!(put("\u{feff}a\n", 0, 1), "\u{feff}x\ny\n");
        assert_eq!(put("a\nb\r\nc\n", 2, 3), "a\nb\r\nx\ny\n");
    }
}
