//! What is left of a module when layout, comments and docstrings are taken away.
//!
//! Two views of the same tokens: `exact`, in which every identifier is replaced by the order of its first appearance,
//! so that a copy with renamed variables is still the same; and `sketch`, the smallest hashes of all runs of eight
//! tokens (a bottom-k sketch, Broder 1997), from which the share of common runs of two modules can be estimated.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use serde::{Deserialize, Serialize};

use crate::syntax::{Ranged, Source, TokenKind};

/// Tokens in one run.
const RUN: usize = 8;
/// Hashes kept: the estimate's standard error is at most 1/√128 / 2 = 4.4 %.
pub(super) const SKETCH: usize = 128;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    /// Significant tokens.
    pub(crate) tokens: u32,
    /// Hash of the token sequence with identifiers numbered.
    pub(crate) exact: u64,
    /// The smallest distinct hashes of runs, sorted.
    pub(crate) sketch: Vec<u32>,
}

pub(crate) fn fingerprint(source: &Source) -> Fingerprint {
    let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
    let mut exact = FxHasher::default();
    let mut runs = Runs::default();
    let mut sketch = Sketch::default();
    let mut tokens = 0;
    let mut starts_statement = true;
    for token in source.tokens() {
        let kind = token.kind();
        match kind {
            TokenKind::Comment | TokenKind::NonLogicalNewline | TokenKind::EndOfFile => continue,
            TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent => {
                starts_statement = true;
                (kind as u8).hash(&mut exact);
                continue;
            }
            // A string that starts a statement is a docstring or the like.
            TokenKind::String if starts_statement => continue,
            _ => starts_statement = false,
        }
        tokens += 1;
        let text = source.slice(token.range());
        (kind as u8).hash(&mut exact);
        if kind == TokenKind::Name {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            numbers.entry(text).or_insert(next).hash(&mut exact);
        } else {
            text.hash(&mut exact);
        }
        if let Some(run) = runs.push(hash_of(text)) {
            sketch.offer(run);
        }
    }
    Fingerprint { tokens, exact: exact.finish(), sketch: sketch.smallest }
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    text.hash(&mut hasher);
    hasher.finish()
}

/// A rolling hash over the last [`RUN`] tokens.
#[derive(Default)]
struct Runs {
    window: [u64; RUN],
    seen: usize,
    rolling: u64,
}

/// Odd, so that multiplying by it loses nothing modulo 2⁶⁴.
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;

impl Runs {
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

/// The high bits of a polynomial hash are the good ones; fold and spread them.
fn mix(hash: u64) -> u32 {
    let spread = (hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (spread >> 32) as u32
}

#[derive(Default)]
struct Sketch {
    smallest: Vec<u32>,
}

impl Sketch {
    fn offer(&mut self, hash: u32) {
        if self.smallest.len() == SKETCH && self.smallest.last().is_some_and(|largest| hash >= *largest) {
            return;
        }
        if let Err(position) = self.smallest.binary_search(&hash) {
            self.smallest.truncate(SKETCH - 1);
            self.smallest.insert(position, hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Fingerprint {
        fingerprint(&Source::parse(text.to_owned()))
    }

    #[test]
    fn layout_comments_and_docstrings_do_not_count() {
        let plain = of("def f(a):\n    return a + 1\n");
        let dressed = of("# c\ndef f( a ):\n    '''Doc.'''\n\n    return (  # d\n a + 1)\n"
            .replace("(  # d\n a + 1)", "a + 1")
            .as_str());
        assert_eq!(plain, dressed);
    }

    #[test]
    fn a_consistent_renaming_is_the_same_and_a_swap_is_not() {
        assert_eq!(of("x = a + b * a").exact, of("y = c + d * c").exact);
        assert_ne!(of("x = a + b * a").exact, of("x = a + b * b").exact);
        assert_ne!(of("x = 'a'").exact, of("x = 'b'").exact);
    }
}
