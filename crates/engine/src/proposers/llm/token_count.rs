//! Token counts, for requests before they are sent and for answers without usage from the endpoint.

use std::sync::LazyLock;

use tiktoken_rs::CoreBPE;

use super::model::ChatMessage;

/// Vocabulary of `OpenAI`'s newer models. Other models differ somewhat, so these counts are estimates.
static VOCABULARY: LazyLock<Option<CoreBPE>> = LazyLock::new(|| tiktoken_rs::o200k_base().ok());
/// Tokens of a message in addition to its text.
const PER_MESSAGE: u64 = 4;

/// Number of tokens of a text.
pub(super) fn tokens(text: &str) -> u64 {
    match &*VOCABULARY {
        Some(vocabulary) => vocabulary.encode_ordinary(text).len() as u64,
        // No token is shorter than a byte.
        None => text.len() as u64,
    }
}

/// Number of tokens of a request.
pub(super) fn tokens_of(messages: &[ChatMessage]) -> u64 {
    messages.iter().map(|message| tokens(&message.content) + PER_MESSAGE).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_count_is_plausible() {
        let text = "def total(prices):\n    return sum(prices) / len(prices)\n";
        let count = tokens(text);
        assert!(count > 8 && count < 30, "{count}");
    }
}
