//! Shannon entropy of a file's tokens.

use rustc_hash::FxHashMap;

use crate::syntax::{Ranged, Source, TokenKind};

/// Bits per token of the distribution of token texts; comments and layout are no tokens here.
pub(crate) fn token_entropy(source: &Source) -> f64 {
    let mut counts: FxHashMap<&str, u32> = FxHashMap::default();
    let mut total = 0_u32;
    for token in source.tokens() {
        if is_layout(token.kind()) {
            continue;
        }
        *counts.entry(source.slice(token.range())).or_default() += 1;
        total += 1;
    }
    if total == 0 {
        return 0.0;
    }
    let mut sorted: Vec<u32> = counts.into_values().collect();
    // A sum of floats depends on its order, and a hash map has none that is stable.
    sorted.sort_unstable();
    let weighted: f64 = sorted.iter().map(|count| f64::from(*count) * f64::from(*count).log2()).sum();
    f64::from(total).log2() - weighted / f64::from(total)
}

fn is_layout(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Comment
            | TokenKind::NonLogicalNewline
            | TokenKind::Newline
            | TokenKind::Indent
            | TokenKind::Dedent
            | TokenKind::EndOfFile
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetition_is_zero_bits_and_four_equal_words_are_two() {
        let entropy = |text: &str| token_entropy(&Source::parse(text.to_owned()));
        assert!(entropy("") == 0.0);
        assert!(entropy("a\na\na # b\n").abs() < 1e-12);
        assert!((entropy("a\nb\nc\nd\n") - 2.0).abs() < 1e-12);
    }
}
