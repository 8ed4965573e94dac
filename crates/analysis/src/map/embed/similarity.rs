//! Cosines between many vectors at once, through an inverted index.
//!
//! Most pairs of modules share few terms. Walking, for one vector, the lists of vectors that share each of its
//! terms touches only the products that are not zero.

use rustc_hash::FxHashMap;

use super::SparseVector;

/// Two vectors whose cosine reached the threshold; `left` is the lower index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SimilarPair {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) cosine: f64,
}

/// Equal documents must pass a threshold of one in spite of rounding.
const ROUNDING: f64 = 1e-9;

/// All pairs whose cosine is positive and at least `threshold`, sorted.
pub(crate) fn similar_pairs(vectors: &[SparseVector], threshold: f64) -> Vec<SimilarPair> {
    let mut index = InvertedIndex::new(vectors);
    let mut cosines = vec![0.0; vectors.len()];
    let mut pairs = Vec::new();
    for left in 0..vectors.len() {
        index.add_cosines_with_later(left, &mut cosines);
        for (right, cosine) in cosines.iter_mut().enumerate().skip(left + 1) {
            let cosine = std::mem::take(cosine);
            if cosine > 0.0 && cosine + ROUNDING >= threshold {
                pairs.push(SimilarPair { left, right, cosine: cosine.min(1.0) });
            }
        }
    }
    pairs
}

/// For every dimension, the vectors that are not zero there.
struct InvertedIndex {
    /// Each vector's entries with dimensions renumbered without gaps: an embedder may use any `u32`.
    rows: Vec<Vec<(usize, f64)>>,
    columns: Vec<Vec<(usize, f64)>>,
    /// How many vectors at the start of each column have had their turn.
    done: Vec<usize>,
}

impl InvertedIndex {
    fn new(vectors: &[SparseVector]) -> Self {
        let mut column_of: FxHashMap<u32, usize> = FxHashMap::default();
        let mut columns: Vec<Vec<(usize, f64)>> = Vec::new();
        let mut rows = Vec::with_capacity(vectors.len());
        for (number, vector) in vectors.iter().enumerate() {
            let place = |&(dimension, value): &(u32, f64)| {
                let column = *column_of.entry(dimension).or_insert(columns.len());
                if column == columns.len() {
                    columns.push(Vec::new());
                }
                columns[column].push((number, value));
                (column, value)
            };
            rows.push(vector.entries().iter().map(place).collect());
        }
        let done = vec![0; columns.len()];
        Self { rows, columns, done }
    }

    /// Adds to `cosines` the cosine between one vector and every later one. Vectors take their turns in order, so
    /// that the one whose turn it is comes first in what is left of all its columns.
    fn add_cosines_with_later(&mut self, vector: usize, cosines: &mut [f64]) {
        for &(column, value) in &self.rows[vector] {
            self.done[column] += 1;
            for &(other, other_value) in &self.columns[column][self.done[column]..] {
                cosines[other] += value * other_value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cosine(left: &SparseVector, right: &SparseVector) -> f64 {
        let product = |(dimension, value): &(u32, f64)| {
            let entry = right.entries().iter().find(|entry| entry.0 == *dimension);
            entry.map_or(0.0, |entry| entry.1 * value)
        };
        left.entries().iter().map(product).sum()
    }

    #[test]
    fn equal_vectors_pass_every_threshold_and_empty_ones_none() {
        let twin = SparseVector::new([(0, 0.3), (u32::MAX, 0.7), (5, 0.11)]);
        let vectors = [twin.clone(), SparseVector::default(), twin, SparseVector::default()];
        let pairs = similar_pairs(&vectors, 1.0);
        assert_eq!(pairs.len(), 1);
        assert_eq!((pairs[0].left, pairs[0].right), (0, 2));
        assert_eq!(similar_pairs(&vectors, 0.0).len(), 1);
    }

    proptest! {
        #[test]
        fn finds_exactly_the_pairs_that_comparing_all_finds(
            entries in proptest::collection::vec(proptest::collection::vec((0_u32..12, -1.0..4.0_f64), 0..8), 0..20),
            threshold in 0.0..1.0_f64,
        ) {
            let vectors: Vec<SparseVector> = entries.into_iter().map(SparseVector::new).collect();
            let found = similar_pairs(&vectors, threshold);
            let mut expected = Vec::new();
            for left in 0..vectors.len() {
                for right in left + 1..vectors.len() {
                    let cosine = cosine(&vectors[left], &vectors[right]);
                    // Pairs right at the threshold may fall on either side by rounding.
                    prop_assume!((cosine - threshold).abs() > 1e-6 && cosine.abs() > 1e-6 || cosine == 0.0);
                    if cosine > 0.0 && cosine >= threshold {
                        expected.push((left, right));
                    }
                }
            }
            prop_assert_eq!(found.iter().map(|pair| (pair.left, pair.right)).collect::<Vec<_>>(), expected);
        }
    }
}
