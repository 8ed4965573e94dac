//! The types a setting can have, and how each is read from text.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// A type that a setting can have.
pub trait SettingValue: Sized {
    /// Whether the flag takes no value.
    const IS_SWITCH: bool = false;

    /// Separator of the items of a list.
    const LIST_SEPARATOR: &'static str = ",";

    /// Parses the text of a user; `None` if it is not accepted.
    fn parse(text: &str) -> Option<Self>;

    /// Description of the accepted values for error messages: `a whole number`.
    fn accepted() -> String;
}

impl SettingValue for bool {
    const IS_SWITCH: bool = true;

    fn parse(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(true),
            "0" | "false" | "no" | "off" | "" => Some(false),
            _ => None,
        }
    }

    fn accepted() -> String {
        "1, 0, true, false, yes, no, on or off".into()
    }
}

macro_rules! numbers {
    ($($ty:ty => $accepted:literal),+ $(,)?) => {
        $(impl SettingValue for $ty {
            fn parse(text: &str) -> Option<Self> {
                text.trim().parse().ok()
            }

            fn accepted() -> String {
                $accepted.into()
            }
        })+
    };
}

numbers! {
    u16 => "a whole number from 0 to 65535",
    u32 => "a whole number of at least 0",
    u64 => "a whole number of at least 0",
    usize => "a whole number of at least 0",
}

impl SettingValue for f64 {
    fn parse(text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn accepted() -> String {
        "a finite number".into()
    }
}

impl SettingValue for String {
    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn accepted() -> String {
        "any text".into()
    }
}

impl SettingValue for PathBuf {
    fn parse(text: &str) -> Option<Self> {
        (!text.trim().is_empty()).then(|| Self::from(text))
    }

    fn accepted() -> String {
        "a path".into()
    }
}

/// Empty text is `None`.
impl<T: SettingValue> SettingValue for Option<T> {
    const IS_SWITCH: bool = T::IS_SWITCH;
    const LIST_SEPARATOR: &'static str = T::LIST_SEPARATOR;

    fn parse(text: &str) -> Option<Self> {
        if text.trim().is_empty() { Some(None) } else { T::parse(text).map(Some) }
    }

    fn accepted() -> String {
        format!("{}, or empty", T::accepted())
    }
}

/// A list, separated by commas; empty items are dropped.
impl SettingValue for Vec<String> {
    fn parse(text: &str) -> Option<Self> {
        Some(text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect())
    }

    fn accepted() -> String {
        "a list separated by commas".into()
    }
}

/// Paths, separated as in `PATH`.
impl SettingValue for Vec<PathBuf> {
    const LIST_SEPARATOR: &'static str = if cfg!(windows) { ";" } else { ":" };

    fn parse(text: &str) -> Option<Self> {
        Some(std::env::split_paths(text.trim()).filter(|path| !path.as_os_str().is_empty()).collect())
    }

    fn accepted() -> String {
        format!("paths separated by {:?}", Self::LIST_SEPARATOR)
    }
}

/// Counts by name, such as `insight=40,error_fix=20`.
impl SettingValue for BTreeMap<String, usize> {
    fn parse(text: &str) -> Option<Self> {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(parse_count).collect()
    }

    fn accepted() -> String {
        "a list such as insight=40,error_fix=20".into()
    }
}

fn parse_count(item: &str) -> Option<(String, usize)> {
    let (name, count) = item.split_once('=')?;
    let name = name.trim();
    if name.is_empty() { None } else { Some((name.to_owned(), count.trim().parse().ok()?)) }
}

/// An enum whose variants are the accepted words.
pub trait SettingChoice: Sized + Copy + 'static {
    /// Each accepted word with its value.
    const WORDS: &'static [(&'static str, Self)];
}

impl<T: SettingChoice> SettingValue for T {
    fn parse(text: &str) -> Option<Self> {
        let word = text.trim();
        Self::WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, value)| *value)
    }

    fn accepted() -> String {
        format!("one of {}", joined_words::<T>())
    }
}

/// Words, separated by commas; empty items are dropped.
impl<T: SettingChoice> SettingValue for Vec<T> {
    fn parse(text: &str) -> Option<Self> {
        text.split(',').filter(|item| !item.trim().is_empty()).map(T::parse).collect()
    }

    fn accepted() -> String {
        format!("a list separated by commas, out of {}", joined_words::<T>())
    }
}

fn joined_words<T: SettingChoice>() -> String {
    let words: Vec<&str> = T::WORDS.iter().map(|(name, _)| *name).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{LogLevel, PresetMode};

    #[test]
    fn switches_accept_only_the_usual_words() {
        for (text, expected) in
            [("1", Some(true)), (" ON ", Some(true)), ("no", Some(false)), ("", Some(false)), ("maybe", None)]
        {
            assert_eq!(bool::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_must_be_finite_and_in_range() {
        assert_eq!(f64::parse("nan"), None);
        assert_eq!(f64::parse(" 0.25"), Some(0.25));
        assert_eq!(u16::parse("70000"), None);
        assert_eq!(u32::parse("-1"), None);
    }

    #[test]
    fn empty_text_is_none_and_lists_drop_empty_items() {
        assert_eq!(Option::<u32>::parse(""), Some(None));
        assert_eq!(Option::<u32>::parse("7"), Some(Some(7)));
        assert_eq!(Option::<u32>::parse("x"), None);
        assert_eq!(Vec::<String>::parse("a, b,,"), Some(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn paths_are_separated_as_in_path() {
        let both = std::env::join_paths(["plugins", "/opt/more plugins"]).unwrap().into_string().unwrap();
        let expected = vec![PathBuf::from("plugins"), PathBuf::from("/opt/more plugins")];
        assert_eq!(Vec::<PathBuf>::parse(&both), Some(expected));
        assert_eq!(Vec::<PathBuf>::parse(""), Some(vec![]));
    }

    #[test]
    fn counts_need_a_name_and_a_number() {
        let expected = BTreeMap::from([("error_fix".to_owned(), 20), ("insight".to_owned(), 40)]);
        assert_eq!(BTreeMap::parse("insight=40, error_fix = 20"), Some(expected));
        for wrong in ["insight", "insight=", "=3", "insight=many"] {
            assert_eq!(BTreeMap::<String, usize>::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn choices_accept_every_spelling_in_any_case_and_write_the_first() {
        assert_eq!(LogLevel::parse(" WARNING "), Some(LogLevel::Warn));
        assert_eq!(LogLevel::Warn.word(), "warn");
        assert_eq!(LogLevel::parse("loud"), None);
        assert_eq!(PresetMode::accepted(), "one of random, canonical");
        let both = vec![PresetMode::Canonical, PresetMode::Random];
        assert_eq!(Vec::<PresetMode>::parse("canonical,, Random"), Some(both));
        assert_eq!(Vec::<PresetMode>::parse("canonical,other"), None);
    }
}
