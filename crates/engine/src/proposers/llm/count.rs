//! Tokens, counted here where an endpoint does not say how many there were, and before it is asked.

use std::sync::LazyLock;

use tiktoken_rs::CoreBPE;

use super::model::Message;

/// The vocabulary of `OpenAI`'s newer models. That of others differs somewhat, which is said wherever it counts.
static VOCABULARY: LazyLock<Option<CoreBPE>> = LazyLock::new(|| tiktoken_rs::o200k_base().ok());
/// What a message costs beside its text.
const PER_MESSAGE: u64 = 4;

/// Tokens of a text.
pub(super) fn tokens(text: &str) -> u64 {
    match &*VOCABULARY {
        Some(vocabulary) => vocabulary.encode_ordinary(text).len() as u64,
        // No token is shorter than a byte.
        None => text.len() as u64,
    }
}

/// Tokens of a question.
pub(super) fn tokens_of(messages: &[Message]) -> u64 {
    messages.iter().map(|message| tokens(&message.content) + PER_MESSAGE).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_fewer_than_bytes_and_not_none() {
        let text = "def total(prices):\n    return sum(prices) / len(prices)\n";
        let count = tokens(text);
        assert!(count > 8 && count < 30, "{count}");
    }
}
