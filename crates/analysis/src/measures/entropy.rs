//! Shannon entropy of a file's tokens.

use crate::syntax::TokenVocabulary;

/// Bits per token of the distribution of token texts; comments and layout are not counted as tokens.
pub(crate) fn token_entropy(vocabulary: &TokenVocabulary) -> f64 {
    let total: u32 = vocabulary.words.iter().map(|word| word.count).sum();
    if total == 0 {
        return 0.0;
    }
    let weighted: f64 =
        vocabulary.words.iter().map(|word| f64::from(word.count) * f64::from(word.count).log2()).sum();
    f64::from(total).log2() - weighted / f64::from(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::ParsedPythonSource;

    #[test]
    fn repetition_is_zero_bits_and_four_equal_words_are_two() {
        let entropy =
            |text: &str| token_entropy(&TokenVocabulary::new(&ParsedPythonSource::parse(text.to_owned())));
        assert!(entropy("") == 0.0);
        assert!(entropy("a\na\na # b\n").abs() < 1e-12);
        assert!((entropy("a\nb\nc\nd\n") - 2.0).abs() < 1e-12);
        assert!((entropy("a + b - c * d") - 7_f64.log2()).abs() < 1e-12);
    }
}
