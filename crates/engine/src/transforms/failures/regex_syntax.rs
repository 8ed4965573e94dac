//! Parser for regular expressions, sufficient to detect catastrophic backtracking and to rewrite the pattern.

use super::charset::is_disjoint;

/// An atom of a pattern with its quantifier.
#[derive(Debug, Clone, PartialEq)]
struct PatternItem<'a> {
    atom: PatternAtom<'a>,
    /// Quantifier: `""`, `?`, `*` or `+`; any other one is only copied.
    times: &'a str,
    text: &'a str,
}

#[derive(Debug, Clone, PartialEq)]
enum PatternAtom<'a> {
    /// A character or a character class.
    Class(&'a str),
    /// Content of a group, and whether the group captures.
    Group(&'a str, bool),
    /// Anchors and boundaries.
    Other,
}

/// Equivalent pattern without nested repetitions, and whether it loses a capturing group. `None` if there is no nested
/// repetition that can be rewritten.
pub(in crate::transforms) fn without_nesting(pattern: &str) -> Option<(String, bool)> {
    let items = items(pattern)?;
    let (mut text, mut loses_group, mut changed) = (String::new(), false, false);
    for item in &items {
        match flattened(item) {
            Some(flat) => {
                text.push_str(&flat);
                loses_group |= matches!(item.atom, PatternAtom::Group(_, true));
                changed = true;
            }
            None => text.push_str(item.text),
        }
    }
    changed.then_some((text, loses_group))
}

/// Pattern that is found in the same strings, though not at the same positions: at both ends, one character of a run is
/// sufficient.
pub(in crate::transforms) fn found_anywhere(pattern: &str) -> Option<String> {
    let items = items(pattern)?;
    let last = items.len().checked_sub(1)?;
    let is_run = |item: &PatternItem<'_>| matches!(item.atom, PatternAtom::Class(_)) && item.times == "+";
    if !is_run(&items[0]) {
        return None;
    }
    let shorten = |(at, item): (usize, &PatternItem<'_>)| match item.atom {
        PatternAtom::Class(class) if (at == 0 || at == last) && is_run(item) => class.to_owned(),
        _ => item.text.to_owned(),
    };
    Some(items.iter().enumerate().map(shorten).collect())
}

/// Rewrites `(C+s?)+` without the outer repetition.
fn flattened(item: &PatternItem<'_>) -> Option<String> {
    let PatternAtom::Group(body, _) = item.atom else { return None };
    if !matches!(item.times, "+" | "*") {
        return None;
    }
    let inner = items(body)?;
    let is_class = |item: &PatternItem<'_>| matches!(item.atom, PatternAtom::Class(_));
    if !inner.iter().all(is_class) {
        return None;
    }
    let class = |item: &PatternItem<'_>| {
        if let PatternAtom::Class(class) = item.atom { class.to_owned() } else { String::new() }
    };
    let flat = match inner.as_slice() {
        [run] if run.times == "*" || (run.times == "+" && item.times == "*") => {
            return Some(format!("{}*", class(run)));
        }
        [run] if run.times == "+" => return Some(format!("{}+", class(run))),
        [run, between] if run.times == "+" && matches!(between.times, "?" | "*") => {
            let (run, separator) = (class(run), class(between));
            is_disjoint(&run, &separator)?;
            let several = if between.times == "*" { "+" } else { "" };
            format!("{run}+(?:{separator}{several}{run}+)*{separator}{}", between.times)
        }
        [between, run] if run.times == "+" && matches!(between.times, "?" | "*") => {
            let (run, separator) = (class(run), class(between));
            is_disjoint(&run, &separator)?;
            let several = if between.times == "*" { "+" } else { "" };
            format!("{separator}{}{run}+(?:{separator}{several}{run}+)*", between.times)
        }
        _ => return None,
    };
    Some(if item.times == "*" { format!("(?:{flat})?") } else { flat })
}

/// Items of a pattern; `None` if it has alternatives or backreferences.
fn items(pattern: &str) -> Option<Vec<PatternItem<'_>>> {
    let mut items = Vec::new();
    let mut rest = pattern;
    while !rest.is_empty() {
        let (length, atom) = atom(rest)?;
        let times = times(&rest[length..]);
        let text = &rest[..length + times.len()];
        rest = &rest[text.len()..];
        items.push(PatternItem { atom, times, text });
    }
    Some(items)
}

fn atom(rest: &str) -> Option<(usize, PatternAtom<'_>)> {
    let mut letters = rest.chars();
    match letters.next()? {
        '|' | ')' | '*' | '+' | '?' | '{' => None,
        '^' | '$' => Some((1, PatternAtom::Other)),
        '[' => {
            let length = class_length(rest)?;
            Some((length, PatternAtom::Class(&rest[..length])))
        }
        '(' => {
            let length = group_length(rest)?;
            let inner = &rest[1..length - 1];
            match (inner.strip_prefix("?:"), inner.starts_with('?')) {
                (Some(body), _) => Some((length, PatternAtom::Group(body, false))),
                (None, true) => None,
                (None, false) => Some((length, PatternAtom::Group(inner, true))),
            }
        }
        '\\' => {
            let escaped = letters.next().filter(char::is_ascii)?;
            match escaped {
                'b' | 'B' | 'A' | 'Z' => Some((2, PatternAtom::Other)),
                'w' | 'W' | 'd' | 'D' | 's' | 'S' => Some((2, PatternAtom::Class(&rest[..2]))),
                letter if !letter.is_alphanumeric() => Some((2, PatternAtom::Class(&rest[..2]))),
                _ => None,
            }
        }
        letter => Some((letter.len_utf8(), PatternAtom::Class(&rest[..letter.len_utf8()]))),
    }
}

fn times(rest: &str) -> &str {
    let first = match rest.chars().next() {
        Some('?' | '*' | '+') => 1,
        Some('{') => rest.find('}').map_or(0, |at| at + 1),
        _ => 0,
    };
    let second = usize::from(first > 0 && rest[first..].starts_with(['?', '+']));
    &rest[..first + second]
}

fn class_length(rest: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            // At the start of a class, `]` is a literal.
            ']' if at > 1 && &rest[..at] != "[^" => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn group_length(rest: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_u32, 0);
    while let Some(letter) = rest[at..].chars().next() {
        match letter {
            '\\' => at += rest[at + 1..].chars().next().map_or(0, char::len_utf8),
            '[' => at += class_length(&rest[at..])? - 1,
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        at += letter.len_utf8();
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(pattern: &str) -> Option<String> {
        without_nesting(pattern).map(|(text, _)| text)
    }

    #[test]
    fn nested_repetitions_are_flattened() {
        assert_eq!(flat(r"^([a-z0-9]+-?)+$").unwrap(), r"^[a-z0-9]+(?:-[a-z0-9]+)*-?$");
        assert_eq!(flat(r"(?:\w+\s*)*!").unwrap(), r"(?:\w+(?:\s+\w+)*\s*)?!");
        assert_eq!(flat(r"(\.?\d+)+").unwrap(), r"\.?\d+(?:\.\d+)*");
        assert_eq!(flat(r"(a+)+b").unwrap(), "a+b");
        assert_eq!(without_nesting(r"(?:a+)*b").unwrap(), ("a*b".to_owned(), false));
    }

    #[test]
    fn unsupported_patterns_stay() {
        for pattern in [
            r"([a-z-]+-?)+",
            r"(a|b)+",
            r"(\w+_?)+",
            r"(a+)\1",
            r"(?P<n>a+)+",
            "abc",
            r"([^a]+é?)+",
            r"(a+b)+",
            "(a",
            "[a",
        ] {
            assert_eq!(flat(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn runs_at_the_ends_are_shortened() {
        assert_eq!(found_anywhere(r"[\w.]+@[\w.]+").unwrap(), r"[\w.]@[\w.]");
        assert_eq!(found_anywhere(r"^\w+@"), None);
        assert_eq!(found_anywhere(r"a+|b"), None);
    }

    /// Compares two patterns in Python, on all short strings over some characters.
    fn is_same(method: &str, before: &str, after: &str) -> bool {
        let program = format!(
            "import itertools, re\nfor n in range(7):\n    for t in itertools.product('a1-@ ', repeat=n):\n        t = ''.join(t)\n        assert (re.{method}(r'''{before}''', t) is None) == (re.{method}(r'''{after}''', t) is None), t\n"
        );
        std::process::Command::new("python3").args(["-c", &program]).status().unwrap().success()
    }

    #[test]
    fn python_finds_no_difference() {
        for pattern in [r"^([a-z0-9]+-?)+$", r"^(?:\w+[ -]*)*@$", r"^(-?\w+)+$", r"^(\s*a+)*1$", r"(a+)+1"] {
            assert!(is_same("match", pattern, &flat(pattern).unwrap()), "{pattern}");
        }
        for pattern in [r"[\w-]+@[\w-]+", r"a+1", r"\w+"] {
            assert!(is_same("search", pattern, &found_anywhere(pattern).unwrap()), "{pattern}");
        }
        assert!(!is_same("match", "^a+$", "^a$"));
    }
}
