//! Fingerprint of a module without its layout, comments and docstrings.
//!
//! Two views of the same tokens: `exact`, in which every identifier is replaced by the order of its first appearance,
//! so that a copy with renamed variables has the same hash; and `sketch`, the smallest hashes of all runs of six
//! tokens (a bottom-k sketch, Broder 1997), from which the share of common runs of two modules can be estimated.

use serde::{Deserialize, Serialize};

use crate::syntax::{TokenKind, TokenVocabulary};

/// Tokens in one run.
const RUN: usize = 6;
/// Hashes kept: the estimate's standard error is at most 1/√256 / 2 = 3.1 %.
pub(super) const SKETCH: usize = 256;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ModuleFingerprint {
    /// Significant tokens.
    pub(crate) tokens: u32,
    /// Hash of the token sequence with identifiers numbered.
    pub(crate) exact: u64,
    /// The smallest distinct hashes of runs, sorted.
    pub(crate) sketch: Vec<u32>,
}

pub(crate) fn fingerprint(vocabulary: &TokenVocabulary) -> ModuleFingerprint {
    let mut numbers = IdentifierNumbers::new(vocabulary);
    let mut exact = 0_u64;
    let mut runs = RollingHash::default();
    let mut sketch = HashSketch::default();
    let mut tokens = 0;
    let mut place = TokenPosition::StatementStart;
    for token in &vocabulary.tokens {
        match (token.kind, place) {
            // The newline after a docstring is dropped with it.
            (TokenKind::Newline, TokenPosition::AfterDocstring) => {
                place = TokenPosition::StatementStart;
                continue;
            }
            (TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent, _) => {
                place = TokenPosition::StatementStart;
                exact = extend_hash(exact, token.kind as u64);
                continue;
            }
            // A string that starts a statement is a docstring or serves as a comment.
            (TokenKind::String, TokenPosition::StatementStart) => {
                place = TokenPosition::AfterDocstring;
                continue;
            }
            _ => place = TokenPosition::Statement,
        }
        tokens += 1;
        let hash = vocabulary.words[token.word as usize].hash;
        // Identifier numbers are small, so they do not collide with the hashes of literals.
        exact = extend_hash(exact, if token.kind == TokenKind::Name { numbers.of(token.word) } else { hash });
        if let Some(run) = runs.push(hash) {
            sketch.offer(run);
        }
    }
    ModuleFingerprint { tokens, exact, sketch: sketch.smallest() }
}

/// Hash of a sequence extended by `value`.
fn extend_hash(sequence: u64, value: u64) -> u64 {
    (sequence.rotate_left(23) ^ value).wrapping_mul(BASE)
}

#[derive(Clone, Copy)]
enum TokenPosition {
    StatementStart,
    Statement,
    AfterDocstring,
}

/// Names numbered by first appearance outside docstrings.
struct IdentifierNumbers {
    by_word: Vec<u32>,
    next: u32,
}

impl IdentifierNumbers {
    fn new(vocabulary: &TokenVocabulary) -> Self {
        Self { by_word: vec![u32::MAX; vocabulary.words.len()], next: 0 }
    }

    fn of(&mut self, word: u32) -> u64 {
        let number = &mut self.by_word[word as usize];
        if *number == u32::MAX {
            *number = self.next;
            self.next += 1;
        }
        u64::from(*number)
    }
}

/// A rolling hash over the last [`RUN`] tokens.
#[derive(Default)]
struct RollingHash {
    window: [u64; RUN],
    seen: usize,
    rolling: u64,
}

/// Odd, so that multiplication by it is invertible modulo 2⁶⁴.
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;

impl RollingHash {
    fn push(&mut self, token: u64) -> Option<u32> {
        let slot = self.seen % RUN;
        let leaving = self.window[slot].wrapping_mul(BASE_TO_RUN);
        self.rolling = self.rolling.wrapping_mul(BASE).wrapping_add(token).wrapping_sub(leaving);
        self.window[slot] = token;
        self.seen += 1;
        (self.seen >= RUN).then(|| mix(self.rolling))
    }
}

const BASE_TO_RUN: u64 = {
    let mut power = 1_u64;
    let mut step = 0;
    while step < RUN {
        power = power.wrapping_mul(BASE);
        step += 1;
    }
    power
};

/// The high bits of a polynomial hash are the well-distributed ones; fold and spread them.
fn mix(hash: u64) -> u32 {
    let spread = (hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (spread >> 32) as u32
}

/// Smallest distinct hashes offered so far, in batches: sorting a full buffer occasionally is cheaper than keeping it
/// sorted.
#[derive(Default)]
struct HashSketch {
    candidates: Vec<u32>,
    /// Hashes above this are not among the smallest.
    largest: Option<u32>,
}

impl HashSketch {
    fn offer(&mut self, hash: u32) {
        if self.largest.is_some_and(|largest| hash >= largest) {
            return;
        }
        self.candidates.push(hash);
        if self.candidates.len() == 8 * SKETCH {
            self.compact();
        }
    }

    fn compact(&mut self) {
        self.candidates.sort_unstable();
        self.candidates.dedup();
        self.candidates.truncate(SKETCH);
        if self.candidates.len() == SKETCH {
            self.largest = self.candidates.last().copied();
        }
    }

    fn smallest(mut self) -> Vec<u32> {
        self.compact();
        self.candidates.shrink_to_fit();
        self.candidates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::ParsedPythonSource;

    fn of(text: &str) -> ModuleFingerprint {
        fingerprint(&TokenVocabulary::new(&ParsedPythonSource::parse(text.to_owned())))
    }

    #[test]
    fn layout_comments_and_docstrings_do_not_count() {
        let plain = of("def f(a):\n    return a + 1\n");
        let dressed = of("# c\ndef f( a ):\n    '''Doc.'''\n\n    return a + 1  # d\n");
        assert_eq!(plain, dressed);
    }

    #[test]
    fn consistent_renaming_keeps_the_hash_and_a_swap_changes_it() {
        assert_eq!(of("x = a + b * a").exact, of("y = c + d * c").exact);
        assert_ne!(of("x = a + b * a").exact, of("x = a + b * b").exact);
        assert_ne!(of("x = 'a'").exact, of("x = 'b'").exact);
    }
}
