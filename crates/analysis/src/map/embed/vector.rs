//! A unit vector that stores only its non-zero entries.

/// A direction in term space: always of length one, or empty. The dot product of two is their cosine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseVector {
    entries: Vec<(u32, f64)>,
}

impl SparseVector {
    /// Sorts the entries by dimension, sums repeated dimensions, drops values that are zero or not finite, and
    /// scales the rest to length one.
    pub fn new(entries: impl IntoIterator<Item = (u32, f64)>) -> Self {
        let mut entries: Vec<(u32, f64)> =
            entries.into_iter().filter(|(_, value)| value.is_finite() && *value != 0.0).collect();
        entries.sort_by_key(|(dimension, _)| *dimension);
        entries.dedup_by(|next, kept| {
            let same_dimension = next.0 == kept.0;
            if same_dimension {
                kept.1 += next.1;
            }
            same_dimension
        });
        scale_to_unit_length(&mut entries);
        Self { entries }
    }

    /// Converts the dense vector of a neural model.
    pub fn from_dense(values: &[f32]) -> Self {
        Self::new((0..).zip(values).map(|(dimension, value)| (dimension, f64::from(*value))))
    }

    /// The non-zero entries by ascending dimension.
    pub fn entries(&self) -> &[(u32, f64)] {
        &self.entries
    }
}

/// Dividing by the largest value first keeps the squares finite for every finite input.
fn scale_to_unit_length(entries: &mut Vec<(u32, f64)>) {
    let largest = entries.iter().map(|(_, value)| value.abs()).fold(0.0, f64::max);
    let squares = entries.iter().map(|(_, value)| (value / largest).powi(2));
    let length = squares.sum::<f64>().sqrt();
    if !(length.is_finite() && length > 0.0) {
        entries.clear();
    }
    for (_, value) in entries {
        *value = *value / largest / length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_sorted_summed_and_of_length_one() {
        let vector = SparseVector::new([(7, 2.0), (1, 3.0), (7, 2.0), (3, 0.0), (4, f64::NAN)]);
        assert_eq!(vector.entries(), [(1, 0.6), (7, 0.8)]);
    }

    #[test]
    fn extreme_values_do_not_overflow() {
        assert_eq!(SparseVector::new([(0, f64::MAX)]).entries(), [(0, 1.0)]);
        assert_eq!(SparseVector::new([(0, f64::MIN_POSITIVE)]).entries(), [(0, 1.0)]);
        assert_eq!(SparseVector::new([(0, 1.0), (0, -1.0)]), SparseVector::default());
        assert_eq!(SparseVector::new([(0, f64::MAX), (0, f64::MAX)]), SparseVector::default());
        assert_eq!(SparseVector::from_dense(&[0.0, -4.0]).entries(), [(1, -1.0)]);
    }
}
