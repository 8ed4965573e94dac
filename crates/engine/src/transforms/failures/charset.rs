//! Character sets of regular expression classes.

/// Set of ASCII characters, plus the non-ASCII groups that occur: bit 0 for letters and digits, bit 1 for spaces, bit 2 for
/// the rest.
struct CharacterSet {
    ascii: [bool; 128],
    others: u8,
}

impl CharacterSet {
    fn none() -> Self {
        Self { ascii: [false; 128], others: 0 }
    }

    fn where_is(is: impl Fn(u8) -> bool, others: u8) -> Self {
        let mut set = Self::none();
        for code in 0..128_u8 {
            set.ascii[usize::from(code)] = is(code);
        }
        set.others = others;
        set
    }

    fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.ascii.iter_mut().zip(other.ascii) {
            *mine |= theirs;
        }
        self.others |= other.others;
    }
}

/// `Some` if no character is in both classes, regardless of case.
pub(in crate::transforms) fn is_disjoint(first: &str, second: &str) -> Option<()> {
    let (first, second) = (set_of(first)?, set_of(second)?);
    let both = |at: usize| {
        let letter = u8::try_from(at).unwrap_or_default();
        let other = if letter.is_ascii_alphabetic() { usize::from(letter ^ 32) } else { at };
        (first.ascii[at] || first.ascii[other]) && (second.ascii[at] || second.ascii[other])
    };
    (!(0..128).any(both) && first.others & second.others == 0).then_some(())
}

fn set_of(class: &str) -> Option<CharacterSet> {
    let Some(inner) = class.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return if class == "." { Some(CharacterSet::where_is(|_| true, 7)) } else { single(class) };
    };
    let (inner, is_negated) = inner.strip_prefix('^').map_or((inner, false), |rest| (rest, true));
    let mut set = CharacterSet::none();
    let mut rest = inner;
    while let Some(first) = rest.chars().next() {
        let length = if first == '\\' { 2 } else { first.len_utf8() };
        let (one, tail) = rest.split_at_checked(length)?;
        rest = tail;
        let end = rest.strip_prefix('-').and_then(|tail| tail.chars().next());
        match (one.chars().last()?, end) {
            (low, Some(high)) if one.len() == 1 && high.is_ascii() && high != '\\' => {
                set.add(&CharacterSet::where_is(|code| (low..=high).contains(&char::from(code)), 0));
                rest = &rest[2..];
            }
            (_, Some(_)) if !rest.is_empty() && one.len() > 1 => return None,
            _ => set.add(&single(one)?),
        }
    }
    if is_negated {
        let ascii = set.ascii;
        return Some(CharacterSet::where_is(|code| !ascii[usize::from(code)], 7));
    }
    Some(set)
}

fn single(one: &str) -> Option<CharacterSet> {
    let is_word = |code: u8| code.is_ascii_alphanumeric() || code == b'_';
    let is_space = |code: u8| char::from(code).is_whitespace() || (28..32).contains(&code);
    Some(match one {
        "\\w" => CharacterSet::where_is(is_word, 1),
        "\\d" => CharacterSet::where_is(|code| code.is_ascii_digit(), 1),
        "\\s" => CharacterSet::where_is(is_space, 2),
        "\\W" => CharacterSet::where_is(|code| !is_word(code), 6),
        "\\D" => CharacterSet::where_is(|code| !code.is_ascii_digit(), 7),
        "\\S" => CharacterSet::where_is(|code| !is_space(code), 5),
        other => match other.strip_prefix('\\').unwrap_or(other).chars().next()? {
            letter if other.starts_with('\\') && letter.is_alphanumeric() => return None,
            letter if letter.is_ascii() => CharacterSet::where_is(|code| char::from(code) == letter, 0),
            _ => CharacterSet::where_is(|_| false, 7),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disjoint_classes_are_recognized() {
        for (first, second) in
            [(r"\w", r"\s"), ("[a-z0-9]", "-"), (r"\d", r"\."), (r"[\w.]", "@"), ("[^,]", ",")]
        {
            assert!(is_disjoint(first, second).is_some(), "{first} {second}");
        }
        for (first, second) in [
            (r"\w", "_"),
            ("[a-z-]", "-"),
            ("[A-Z]", "x"),
            (".", "a"),
            (r"[^,]", "é"),
            (r"\w", "é"),
            (r"\S", r"\w"),
        ] {
            assert!(is_disjoint(first, second).is_none(), "{first} {second}");
        }
    }
}
