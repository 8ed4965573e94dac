//! Vocabulary of a file: every distinct token text, numbered by first appearance.
//!
//! Entropy and fingerprint both need to know which tokens are equal. Hashing texts is most of that work, so it is done
//! once; operators and keywords, two of three tokens, are identified by their kind and not hashed.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::{ParsedPythonSource, Ranged, TokenKind};

/// A token as (kind, index of its word).
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordToken {
    pub(crate) kind: TokenKind,
    pub(crate) word: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct VocabularyWord {
    pub(crate) hash: u64,
    pub(crate) count: u32,
}

/// Words and, in order, the tokens that consist of them. Comments, layout and the end of the file are left out, but the
/// ends of statements and blocks are tokens, with the word [`TokenVocabulary::LAYOUT`].
#[derive(Debug)]
pub(crate) struct TokenVocabulary {
    pub(crate) words: Vec<VocabularyWord>,
    pub(crate) tokens: Vec<WordToken>,
}

impl TokenVocabulary {
    pub(crate) const LAYOUT: u32 = u32::MAX;

    pub(crate) fn new(source: &ParsedPythonSource) -> Self {
        let tokens = source.tokens();
        let mut builder = VocabularyBuilder {
            by_hash: FxHashMap::with_capacity_and_hasher(tokens.len() / 8, rustc_hash::FxBuildHasher),
            by_kind: [Self::LAYOUT; 256],
            vocabulary: Self {
                words: Vec::with_capacity(tokens.len() / 8),
                tokens: Vec::with_capacity(tokens.len()),
            },
        };
        for token in tokens {
            builder.token(source, token.kind(), token);
        }
        builder.vocabulary
    }
}

struct VocabularyBuilder {
    /// Words by the hash of their text. Collisions of 64 bits within one file are negligible.
    by_hash: FxHashMap<u64, u32>,
    by_kind: [u32; 256],
    vocabulary: TokenVocabulary,
}

impl VocabularyBuilder {
    fn token(&mut self, source: &ParsedPythonSource, kind: TokenKind, token: &impl Ranged) {
        let word = match kind {
            TokenKind::Comment | TokenKind::NonLogicalNewline | TokenKind::EndOfFile => return,
            TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent => TokenVocabulary::LAYOUT,
            _ if has_own_text(kind) => self.word_by_text(source.slice(token.range())),
            _ => self.word_by_kind(kind),
        };
        self.vocabulary.tokens.push(WordToken { kind, word });
    }

    fn word_by_text(&mut self, text: &str) -> u32 {
        let mut hasher = FxHasher::default();
        text.hash(&mut hasher);
        let hash = hasher.finish();
        let words = &mut self.vocabulary.words;
        let index = *self.by_hash.entry(hash).or_insert_with(|| add(words, hash));
        words[index as usize].count += 1;
        index
    }

    fn word_by_kind(&mut self, kind: TokenKind) -> u32 {
        let slot = &mut self.by_kind[kind as usize];
        if *slot == TokenVocabulary::LAYOUT {
            // Spread like the hash of a text, so that runs of operators hash as well as runs of names.
            let hash = (kind as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            *slot = add(&mut self.vocabulary.words, hash);
        }
        self.vocabulary.words[*slot as usize].count += 1;
        *slot
    }
}

fn add(words: &mut Vec<VocabularyWord>, hash: u64) -> u32 {
    words.push(VocabularyWord { hash, count: 0 });
    u32::try_from(words.len() - 1).unwrap_or(TokenVocabulary::LAYOUT)
}

/// Kinds whose tokens differ in their text.
fn has_own_text(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::FStringStart
            | TokenKind::FStringMiddle
            | TokenKind::FStringEnd
            | TokenKind::TStringStart
            | TokenKind::TStringMiddle
            | TokenKind::TStringEnd
            | TokenKind::IpyEscapeCommand
            | TokenKind::Unknown
    )
}
