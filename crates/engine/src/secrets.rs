//! Masking of secrets in texts that are stored or sent to other machines.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Text that replaces a secret.
pub const MASK: &str = "********";

/// Patterns of secrets. The first group is kept, the rest of the match is masked.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        // API keys with a known format.
        r"()\bsk-[A-Za-z0-9_-]{16,}",
        r"()\bgh[pousr]_[A-Za-z0-9]{20,}",
        r"()\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"()\bglpat-[A-Za-z0-9_-]{16,}",
        r"()\bxox[abprs]-[A-Za-z0-9-]{10,}",
        r"()\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        r"()\bAIza[0-9A-Za-z_-]{30,}",
        r"()\bmnc_[A-Za-z0-9_-]{16,}",
        r"()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        r"()-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)-----END [A-Z ]*PRIVATE KEY-----",
        // Password in a URL.
        r"(\b[a-z][a-z0-9+.-]*://[^\s:/@'\x22]*:)[^\s@/'\x22]+(?:@)",
        r"(?i)(authorization['\x22]?\s*[:=]\s*['\x22]?(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}",
        // Literal assigned to a name that suggests a secret.
        r"(?i)(\b[a-z0-9_.\[\]'\x22-]*(?:password|passwd|secret|token|api_?key|apikey|private_key|credential)s?[a-z0-9_'\x22\]]*\s*(?::\s*[a-z]+\s*)?[=:]\s*[rbu]?['\x22])[^'\x22\s]{8,}",
    ];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

/// Parts of names of environment variables whose values are secrets.
const WORDS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];
/// Minimum length of a secret value; shorter values could be ordinary words.
const SHORTEST: usize = 8;

static OF_THE_ENVIRONMENT: LazyLock<Vec<String>> = LazyLock::new(|| {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| WORDS.iter().any(|word| name.contains(word)) && value.len() >= SHORTEST)
        .map(|(_, value)| value)
        .collect()
});

/// Replaces each secret in a text with the mask.
pub fn scrubbed(text: &str) -> String {
    let mut clean = Cow::Borrowed(text);
    for value in OF_THE_ENVIRONMENT.iter().filter(|value| text.contains(value.as_str())) {
        clean = Cow::Owned(clean.replace(value, MASK));
    }
    for pattern in PATTERNS.iter() {
        if pattern.is_match(&clean) {
            clean = Cow::Owned(
                pattern
                    .replace_all(&clean, |found: &regex::Captures<'_>| {
                        let at = if found[0].ends_with('@') { "@" } else { "" };
                        format!("{}{MASK}{at}", &found[1])
                    })
                    .into_owned(),
            );
        }
    }
    clean.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_compile() {
        assert_eq!(PATTERNS.len(), 13);
    }

    #[test]
    fn secrets_are_masked() {
        for (text, expected) in [
            ("key = 'sk-abcdefghijklmnopqrstuv'", "key = '********'"),
            ("KEY = \"AKIAIOSFODNN7EXAMPLE\"", "KEY = \"********\""),
            ("x = \"postgresql://shop:hunter2@db/shop\"", "x = \"postgresql://shop:********@db/shop\""),
            ("DB_PASSWORD = 'correct horse'", "DB_PASSWORD = 'correct horse'"),
            ("DB_PASSWORD = 'correcthorse'", "DB_PASSWORD = '********'"),
            ("config[\"api_key\"] = \"0123456789abcdef\"", "config[\"api_key\"] = \"********\""),
            ("{'token': '0123456789abcdef'}", "{'token': '********'}"),
            (
                "headers = {'Authorization': 'Bearer abcdefgh12345678'}",
                "headers = {'Authorization': 'Bearer ********'}",
            ),
            (
                "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nb",
                "a\n********\nb",
            ),
            ("t = 'eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK'", "t = '********'"),
        ] {
            assert_eq!(scrubbed(text), expected);
        }
    }

    #[test]
    fn ordinary_code_is_unchanged() {
        for text in [
            "def total(prices):\n    return sum(prices) / len(prices)\n",
            "token = next(tokens)",
            "password: str = ''",
            "see https://example.com/a:b@c for more",
            "for key, value in secrets.items():",
        ] {
            assert_eq!(scrubbed(text), text);
        }
    }
}
