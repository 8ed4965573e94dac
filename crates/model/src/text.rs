//! Patterns with stars.

/// Whether a text fits a pattern, in which `*` stands for anything.
pub fn fits(pattern: &str, text: &str) -> bool {
    matches(&tokens(pattern, false), text.as_bytes())
}

/// Whether a path fits a pattern, in which `*` stands for anything between slashes and `**` for anything.
pub fn fits_path(pattern: &str, path: &str) -> bool {
    matches(&tokens(pattern, true), path.as_bytes())
}

#[derive(Clone, Copy)]
enum Token {
    Byte(u8),
    /// Any bytes but slashes.
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

/// Tries all ways at once, so that many stars cost no more than few.
fn matches(tokens: &[Token], text: &[u8]) -> bool {
    // Whether the tokens so far fit the first so many bytes.
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
                    let goes_on = matches!(token, Token::Anything) || *seen != b'/';
                    next[at + 1] = fits[at + 1] || (next[at] && goes_on);
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
    fn stars_stand_for_what_they_should() {
        assert!(fits("*.example.com", "a.b.example.com") && !fits("*.example.com", "example.com"));
        assert!(fits("Bearer *", "Bearer x/y") && fits("*", "") && !fits("a", "ab"));
        assert!(fits_path("/v1/*/items", "/v1/7/items") && !fits_path("/v1/*/items", "/v1/7/8/items"));
        assert!(fits_path("/v1/**", "/v1/7/8") && fits_path("**", "/") && !fits_path("/v1/*", "/v1/7/8"));
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        assert!(!fits(&"*a".repeat(30), &"a".repeat(20_000).replace('a', "b")));
    }
}
