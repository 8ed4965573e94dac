//! Matching of text and paths against patterns with `*`.

/// Whether a text matches a pattern in which `*` stands for any text.
pub fn fits(pattern: &str, text: &str) -> bool {
    matches(&tokens(pattern, false), text.as_bytes())
}

/// Whether a path matches a pattern in which `*` stands for any text without a slash and `**` for any text.
pub fn fits_path(pattern: &str, path: &str) -> bool {
    matches(&tokens(pattern, true), path.as_bytes())
}

#[derive(Clone, Copy)]
enum Token {
    Byte(u8),
    /// Any bytes except slashes.
    Segment,
    Anything,
}

fn tokens(pattern: &str, is_path: bool) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut bytes = pattern.bytes().peekable();
    while let Some(byte) = bytes.next() {
        tokens.push(match byte {
            b'*' if is_path && bytes.peek() != Some(&b'*') => Token::Segment,
            b'*' => {
                while bytes.next_if_eq(&b'*').is_some() {}
                Token::Anything
            }
            byte => Token::Byte(byte),
        });
    }
    tokens
}

/// Matches by dynamic programming in time pattern length × text length, however many stars there are.
fn matches(tokens: &[Token], text: &[u8]) -> bool {
    // `fits[n]`: the tokens so far match the first `n` bytes.
    let mut fits = vec![false; text.len() + 1];
    fits[0] = true;
    for token in tokens {
        let mut next = vec![false; text.len() + 1];
        match token {
            Token::Byte(byte) => {
                for (at, seen) in text.iter().enumerate() {
                    next[at + 1] = fits[at] && seen == byte;
                }
            }
            Token::Segment | Token::Anything => {
                next[0] = fits[0];
                for (at, seen) in text.iter().enumerate() {
                    let may_extend = matches!(token, Token::Anything) || *seen != b'/';
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
        assert!(fits("*.example.com", "a.b.example.com") && !fits("*.example.com", "example.com"));
        assert!(fits("Bearer *", "Bearer x/y") && fits("*", "") && !fits("a", "ab"));
        assert!(fits_path("/v1/*/items", "/v1/7/items") && !fits_path("/v1/*/items", "/v1/7/8/items"));
        assert!(fits_path("/v1/**", "/v1/7/8") && fits_path("**", "/") && !fits_path("/v1/*", "/v1/7/8"));
    }

    #[test]
    fn many_stars_stay_fast() {
        assert!(!fits(&"*a".repeat(30), &"a".repeat(20_000).replace('a', "b")));
    }
}
