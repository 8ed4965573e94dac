//! Matching of text and paths against patterns with `*`.

/// Whether a text matches a pattern in which `*` stands for any text.
pub fn matches_pattern(pattern: &str, text: &str) -> bool {
    matches(&tokens(pattern, false), text.as_bytes())
}

/// Whether a path matches a pattern in which `*` stands for any text without a slash and `**` for any text.
pub fn matches_path_pattern(pattern: &str, path: &str) -> bool {
    matches(&tokens(pattern, true), path.as_bytes())
}

#[derive(Clone, Copy)]
enum PatternToken {
    Byte(u8),
    /// Any bytes except slashes.
    Segment,
    Anything,
}

fn tokens(pattern: &str, is_path: bool) -> Vec<PatternToken> {
    let mut tokens = Vec::new();
    let mut bytes = pattern.bytes().peekable();
    while let Some(byte) = bytes.next() {
        tokens.push(match byte {
            b'*' if is_path && bytes.peek() != Some(&b'*') => PatternToken::Segment,
            b'*' => {
                while bytes.next_if_eq(&b'*').is_some() {}
                PatternToken::Anything
            }
            byte => PatternToken::Byte(byte),
        });
    }
    tokens
}

/// Matches by dynamic programming in time pattern length × text length, however many stars there are.
fn matches(tokens: &[PatternToken], text: &[u8]) -> bool {
    // `fits[n]`: the tokens so far match the first `n` bytes.
    let mut fits = vec![false; text.len() + 1];
    fits[0] = true;
    for token in tokens {
        let mut next = vec![false; text.len() + 1];
        match token {
            PatternToken::Byte(byte) => {
                for (at, seen) in text.iter().enumerate() {
                    next[at + 1] = fits[at] && seen == byte;
                }
            }
            PatternToken::Segment | PatternToken::Anything => {
                next[0] = fits[0];
                for (at, seen) in text.iter().enumerate() {
                    let may_extend = matches!(token, PatternToken::Anything) || *seen != b'/';
                    next[at + 1] = fits[at + 1] || (next[at] && may_extend);
                }
            }
        }
        fits = next;
    }
    fits[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_text_and_path_segments() {
        assert!(
            matches_pattern("*.example.com", "a.b.example.com")
                && !matches_pattern("*.example.com", "example.com")
        );
        assert!(
            matches_pattern("Bearer *", "Bearer x/y")
                && matches_pattern("*", "")
                && !matches_pattern("a", "ab")
        );
        assert!(
            matches_path_pattern("/v1/*/items", "/v1/7/items")
                && !matches_path_pattern("/v1/*/items", "/v1/7/8/items")
        );
        assert!(
            matches_path_pattern("/v1/**", "/v1/7/8")
                && matches_path_pattern("**", "/")
                && !matches_path_pattern("/v1/*", "/v1/7/8")
        );
    }

    #[test]
    fn many_stars_stay_fast() {
        assert!(!matches_pattern(&"*a".repeat(30), &"a".repeat(20_000).replace('a', "b")));
    }
}
