//! Text values with a meaning: secrets, URLs, JSON.

use std::fmt;

use super::SettingValue;

/// Text shown in place of a secret.
pub(crate) const MASK: &str = "********";

/// A token or key. Its `Debug` shows a mask, so that settings can be logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret in clear text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(MASK)
    }
}

impl SettingValue for Secret {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    fn accepted() -> String {
        "a text that is not empty".into()
    }
}

/// URL of a database, `scheme://…`. It may contain a password, so `Debug` shows only the scheme.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// The URL, including any password.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scheme(formatter, &self.0)
    }
}

impl SettingValue for DatabaseUrl {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        scheme_of(text).map(|_| Self(text.to_owned()))
    }

    fn accepted() -> String {
        "a URL such as sqlite:///menace.db or postgresql://user@host/name".into()
    }
}

/// URL of the shared patch scores: `http`, `https` or `s3`. It may contain a password, so `Debug` shows only the scheme.
#[derive(Clone, PartialEq, Eq)]
pub struct ScoreBackendUrl(String);

impl ScoreBackendUrl {
    /// The URL, including any password.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ScoreBackendUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scheme(formatter, &self.0)
    }
}

impl SettingValue for ScoreBackendUrl {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let scheme = scheme_of(text)?;
        ["http", "https", "s3"].contains(&scheme).then(|| Self(text.to_owned()))
    }

    fn accepted() -> String {
        "a URL that starts with http://, https:// or s3://".into()
    }
}

/// Scheme of a URL that is not empty after the scheme.
fn scheme_of(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once("://")?;
    (!scheme.is_empty() && !rest.is_empty()).then_some(scheme)
}

fn write_scheme(formatter: &mut fmt::Formatter<'_>, address: &str) -> fmt::Result {
    write!(formatter, "{}://{MASK}", scheme_of(address).unwrap_or_default())
}

/// A JSON array or object as text; its content is validated where it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonText(String);

impl JsonText {
    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SettingValue for JsonText {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_array = text.starts_with('[') && text.ends_with(']');
        let is_object = text.starts_with('{') && text.ends_with('}');
        (is_array || is_object).then(|| Self(text.to_owned()))
    }

    fn accepted() -> String {
        "a JSON array or object".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let token = Secret::parse(" hunter2\n").unwrap();
        assert_eq!(token.expose(), "hunter2");
        assert_eq!(format!("{token:?}"), MASK);
        let database = DatabaseUrl::parse("postgresql://menace:hunter2@db/menace").unwrap();
        assert_eq!(format!("{database:?}"), "postgresql://********");
        let scores = ScoreBackendUrl::parse("https://menace:hunter2@example.com/scores").unwrap();
        assert_eq!(format!("{scores:?}"), "https://********");
    }

    #[test]
    fn urls_need_a_scheme_and_a_rest() {
        assert!(ScoreBackendUrl::parse("s3://bucket/prefix").is_some());
        for wrong in ["ftp://example.com", "example.com", "https://", "://x"] {
            assert_eq!(ScoreBackendUrl::parse(wrong), None, "{wrong:?}");
        }
        assert!(DatabaseUrl::parse("sqlite:///menace.db").is_some());
        assert_eq!(DatabaseUrl::parse("menace.db"), None);
    }

    #[test]
    fn json_is_an_array_or_an_object() {
        assert!(JsonText::parse(r#" [{"CPU_LIMIT": "1"}] "#).is_some());
        assert!(JsonText::parse("{}").is_some());
        for wrong in ["presets.json", "[1", "1", ""] {
            assert_eq!(JsonText::parse(wrong), None, "{wrong:?}");
        }
    }
}
