//! Formatting of numbers and nouns. The only place that builds plurals.

/// `12345` as `12,345`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 module`, `2,823 modules`, `2 sandboxes`, `3 entries`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {}", grouped(number), plural(noun)) }
}

/// The plural of a noun phrase whose last word is the noun.
pub fn plural(noun: &str) -> String {
    let ends_in_consonant_y =
        noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']));
    if let Some(stem) = ends_in_consonant_y {
        return format!("{stem}ies");
    }
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|ending| noun.ends_with(ending));
    format!("{noun}{}", if hisses { "es" } else { "s" })
}

/// The first `longest` characters, with an ellipsis where characters are missing.
pub fn shortened(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    text.chars().take(longest.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn plurals_are_english() {
        for (number, noun, expected) in [
            (1, "cycle", "1 cycle"),
            (0, "cycle", "0 cycles"),
            (2, "sandbox", "2 sandboxes"),
            (2, "distinct failure", "2 distinct failures"),
            (3, "entry", "3 entries"),
            (2, "key", "2 keys"),
            (2, "branch", "2 branches"),
            (1_200, "process", "1,200 processes"),
        ] {
            assert_eq!(count(number, noun), expected);
        }
    }

    #[test]
    fn long_texts_end_in_an_ellipsis() {
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(shortened("abcd", 4), "abcd");
    }
}
