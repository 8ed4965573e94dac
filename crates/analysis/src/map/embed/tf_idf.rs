//! TF-IDF: a term weighs more the more often a document uses it and the fewer documents contain it.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::terms::{for_each_term, words};
use super::{Embedder, SparseVector};

/// The offline embedder. Sublinear term frequency `1 + ln(tf)`, smoothed inverse document frequency
/// `1 + ln((1 + n) / (1 + df))`, length one: scikit-learn's `TfidfVectorizer(sublinear_tf=True)` with menace's terms.
#[derive(Clone, Copy, Debug, Default)]
pub struct TfIdfEmbedder;

impl Embedder for TfIdfEmbedder {
    fn embed(&self, documents: &[&str]) -> Vec<SparseVector> {
        let mut vocabulary = TermVocabulary::default();
        let counted: Vec<Vec<TermCount>> =
            documents.iter().map(|document| vocabulary.counted_terms(document)).collect();
        let inverse_frequencies = vocabulary.inverse_document_frequencies(documents.len());
        let weighted = |counts: &Vec<TermCount>| {
            SparseVector::new(counts.iter().map(|entry| {
                let frequency = 1.0 + f64::from(entry.count).ln();
                (entry.term, frequency * inverse_frequencies[entry.term as usize])
            }))
        };
        counted.iter().map(weighted).collect()
    }
}

struct TermCount {
    term: u32,
    count: u32,
}

/// Terms numbered by first appearance, which is independent of hash order.
#[derive(Default)]
struct TermVocabulary<'a> {
    /// Terms of each word. Code repeats its identifiers, so each is split once and then looked up.
    terms_of_word: FxHashMap<&'a str, Range<usize>>,
    /// The terms of all words, one after the other.
    word_terms: Vec<u32>,
    terms: FxHashMap<Box<str>, u32>,
    document_frequencies: Vec<u32>,
    /// Scratch: number of uses of each term in the current document; all zero between documents.
    counts: Vec<u32>,
}

impl<'a> TermVocabulary<'a> {
    fn counted_terms(&mut self, document: &'a str) -> Vec<TermCount> {
        let mut used = Vec::new();
        for word in words(document) {
            for position in self.terms_of(word) {
                let term = self.word_terms[position];
                let count = &mut self.counts[term as usize];
                if *count == 0 {
                    used.push(term);
                }
                *count += 1;
            }
        }
        used.into_iter()
            .map(|term| {
                self.document_frequencies[term as usize] += 1;
                TermCount { term, count: std::mem::take(&mut self.counts[term as usize]) }
            })
            .collect()
    }

    /// Range of a word's terms in `word_terms`.
    fn terms_of(&mut self, word: &'a str) -> Range<usize> {
        if let Some(range) = self.terms_of_word.get(word) {
            return range.clone();
        }
        let start = self.word_terms.len();
        for_each_term(word, |term| {
            let number = self.number_of(term);
            self.word_terms.push(number);
        });
        let range = start..self.word_terms.len();
        self.terms_of_word.insert(word, range.clone());
        range
    }

    fn number_of(&mut self, term: &str) -> u32 {
        if let Some(&number) = self.terms.get(term) {
            return number;
        }
        let number = u32::try_from(self.terms.len()).expect("four billion terms do not fit into memory");
        self.terms.insert(term.into(), number);
        self.document_frequencies.push(0);
        self.counts.push(0);
        number
    }

    fn inverse_document_frequencies(&self, document_count: usize) -> Vec<f64> {
        let documents = 1.0 + document_count as f64;
        let frequencies = self.document_frequencies.iter();
        frequencies.map(|&frequency| 1.0 + (documents / (1.0 + f64::from(frequency))).ln()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(left: &SparseVector, right: &SparseVector) -> f64 {
        let value_in_right = |dimension| {
            right.entries().iter().find(|entry| entry.0 == dimension).map_or(0.0, |entry| entry.1)
        };
        left.entries().iter().map(|(dimension, value)| value * value_in_right(*dimension)).sum()
    }

    /// Expected: scikit-learn 1.9.1, `TfidfVectorizer(sublinear_tf=True)` on the same texts.
    #[test]
    fn agrees_with_scikit_learn() {
        let vectors = TfIdfEmbedder.embed(&[
            "invoice invoice tax customer",
            "invoice tax tax tax rate",
            "socket packet packet router",
            "router customer",
        ]);
        let pairs =
            [(0, 1, 0.649_039_591_073), (0, 2, 0.0), (0, 3, 0.320_527_724_587), (2, 3, 0.263_144_967_398)];
        for (left, right, expected) in pairs {
            let actual = cosine(&vectors[left], &vectors[right]);
            assert!((actual - expected).abs() < 1e-9, "{left} {right}: {actual} is not {expected}");
        }
    }

    #[test]
    fn documents_without_terms_are_empty() {
        assert_eq!(
            TfIdfEmbedder.embed(&["", "the of 42"]),
            [SparseVector::default(), SparseVector::default()]
        );
        assert!(TfIdfEmbedder.embed(&[]).is_empty());
    }
}
