//! Cosines between all pairs of vectors, through an inverted index.
//!
//! Most pairs of modules share few terms. Walking, for one vector, the lists of vectors that share each of its
//! terms touches only the products that are not zero.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::SparseVector;

/// Two vectors whose cosine reached the threshold; `left` is the lower index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SimilarPair {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) cosine: f64,
}

/// Rounding error of a cosine, which is a sum of hundreds of products of seven digits each.
const ROUNDING: f64 = 1e-6;

/// A dimension is common when at least one vector in this many has it.
const COMMON_SHARE: usize = 4;

/// All pairs whose cosine is positive and at least `threshold`, sorted. Equal vectors have a cosine of one, in spite
/// of rounding, and so pass every threshold.
pub(crate) fn similar_pairs(vectors: &[SparseVector], threshold: f64) -> Vec<SimilarPair> {
    let mut index = InvertedIndex::new(vectors);
    let mut cosines = vec![0.0_f32; vectors.len()];
    let mut pairs = Vec::new();
    for left in 0..vectors.len() {
        index.add_cosines_with_later(left, &mut cosines);
        for (right, cosine) in cosines.iter_mut().enumerate().skip(left + 1) {
            let cosine = f64::from(std::mem::take(cosine));
            let cosine = if cosine + ROUNDING >= 1.0 { 1.0 } else { cosine };
            if cosine > ROUNDING && cosine >= threshold {
                pairs.push(SimilarPair { left, right, cosine });
            }
        }
    }
    pairs
}

/// Vectors with a non-zero value, for every dimension.
///
/// Values are half the size of those in the vectors: walking them is nearly all the work, and a cosine needs six
/// digits, not fifteen.
struct InvertedIndex {
    rows: Vec<VectorRow>,
    /// The values of all vectors in each common dimension. Where most are not zero, adding all is faster than
    /// finding the right ones: the compiler turns it into vector instructions. Every dimension of a neural
    /// embedding is common.
    common: Vec<Vec<f32>>,
    /// The entries of all rare dimensions, one dimension after the other.
    rare: Vec<SparseEntry>,
    /// Remaining range of each rare dimension: the vectors that were not processed yet.
    remaining: Vec<Range<usize>>,
}

/// A vector's entries by kind. Dimensions that no other vector has are left out.
#[derive(Default)]
struct VectorRow {
    common: Vec<SparseEntry>,
    rare: Vec<SparseEntry>,
}

/// Non-zero value with its position: the dimension in a row, the vector in a dimension.
#[derive(Clone, Copy)]
struct SparseEntry {
    position: u32,
    value: f32,
}

/// Position of a dimension in the index.
#[derive(Clone, Copy)]
enum DimensionPosition {
    Common(u32),
    Rare(u32),
}

impl InvertedIndex {
    fn new(vectors: &[SparseVector]) -> Self {
        let mut index =
            Self { rows: Vec::new(), common: Vec::new(), rare: Vec::new(), remaining: Vec::new() };
        let places = index.reserve_dimensions(vectors);
        for (number, vector) in (0_u32..).zip(vectors) {
            let mut row = VectorRow::default();
            for &(dimension, value) in vector.entries() {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a cosine needs six digits, see `InvertedIndex`"
                )]
                let value = value as f32;
                match places.get(&dimension) {
                    Some(&DimensionPosition::Common(position)) => {
                        index.common[position as usize][number as usize] = value;
                        row.common.push(SparseEntry { position, value });
                    }
                    Some(&DimensionPosition::Rare(position)) => {
                        let remaining = &mut index.remaining[position as usize];
                        index.rare[remaining.end] = SparseEntry { position: number, value };
                        remaining.end += 1;
                        row.rare.push(SparseEntry { position, value });
                    }
                    None => {}
                }
            }
            index.rows.push(row);
        }
        index
    }

    /// Reserves space for the dimensions that at least two vectors have. An embedder may use any `u32`, so they are
    /// renumbered without gaps; the numbers do not affect the result.
    fn reserve_dimensions(&mut self, vectors: &[SparseVector]) -> FxHashMap<u32, DimensionPosition> {
        let mut entry_counts: FxHashMap<u32, usize> = FxHashMap::default();
        for (dimension, _) in vectors.iter().flat_map(SparseVector::entries) {
            *entry_counts.entry(*dimension).or_default() += 1;
        }
        let mut rare_entries = 0;
        let number =
            |count: usize| u32::try_from(count).expect("there are no more positions than dimensions");
        let mut place = |entry_count: usize| {
            if entry_count >= vectors.len().div_ceil(COMMON_SHARE) {
                self.common.push(vec![0.0; vectors.len()]);
                return DimensionPosition::Common(number(self.common.len() - 1));
            }
            self.remaining.push(rare_entries..rare_entries);
            rare_entries += entry_count;
            DimensionPosition::Rare(number(self.remaining.len() - 1))
        };
        let shared = entry_counts.into_iter().filter(|(_, count)| *count > 1);
        let places = shared.map(|(dimension, count)| (dimension, place(count))).collect();
        self.rare = vec![SparseEntry { position: 0, value: 0.0 }; rare_entries];
        places
    }

    /// Adds to `cosines` the cosine between one vector and every later one. Vectors are processed in order, so
    /// that the current one is the first in the remaining range of each of its dimensions.
    fn add_cosines_with_later(&mut self, vector: usize, cosines: &mut [f32]) {
        let later = vector + 1..cosines.len();
        for entry in &self.rows[vector].common {
            let values = &self.common[entry.position as usize][later.clone()];
            for (cosine, value) in cosines[later.clone()].iter_mut().zip(values) {
                *cosine += entry.value * value;
            }
        }
        for entry in &self.rows[vector].rare {
            let remaining = &mut self.remaining[entry.position as usize];
            remaining.start += 1;
            for other in &self.rare[remaining.clone()] {
                cosines[other.position as usize] += entry.value * other.value;
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
        assert_eq!(pairs[0], SimilarPair { left: 0, right: 2, cosine: 1.0 });
        assert_eq!(similar_pairs(&vectors, 0.0).len(), 1);
    }

    proptest! {
        #[test]
        fn agrees_with_comparing_all_pairs(
            entries in proptest::collection::vec(proptest::collection::vec((0_u32..12, -1.0..4.0_f64), 0..8), 0..20),
            threshold in 0.0..1.0_f64,
        ) {
            let vectors: Vec<SparseVector> = entries.into_iter().map(SparseVector::new).collect();
            let found = similar_pairs(&vectors, threshold);
            let mut expected = Vec::new();
            for left in 0..vectors.len() {
                for right in left + 1..vectors.len() {
                    let cosine = cosine(&vectors[left], &vectors[right]);
                    // Pairs at the threshold may fall on either side by rounding.
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
