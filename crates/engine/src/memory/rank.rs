//! Similarity of embeddings, and fusion of rankings.

use std::collections::HashMap;

/// Damping of reciprocal rank fusion: the larger, the less a first rank counts against being in several rankings. Cormack,
/// Clarke and Büttcher found 60 to work well for rankings of any kind (SIGIR 2009).
const DAMPING: f64 = 60.0;

/// Cosine similarity of two embeddings, from -1 to 1; `None` if they cannot be compared.
pub(super) fn nearness(one: &[f32], other: &[f32]) -> Option<f64> {
    if one.len() != other.len() {
        return None;
    }
    let product = |left: &[f32], right: &[f32]| -> f64 {
        left.iter().zip(right).map(|(left, right)| f64::from(*left) * f64::from(*right)).sum()
    };
    let lengths = (product(one, one) * product(other, other)).sqrt();
    (lengths > 0.0).then(|| product(one, other) / lengths)
}

/// Fuses rankings by reciprocal ranks, with scores; on equal scores the newer memory is first.
pub(super) fn fused(rankings: &[Vec<u64>]) -> Vec<(u64, f64)> {
    let mut scores: HashMap<u64, f64> = HashMap::new();
    for ranking in rankings {
        for (place, id) in ranking.iter().enumerate() {
            *scores.entry(*id).or_default() += 1.0 / (DAMPING + place as f64 + 1.0);
        }
    }
    let mut all: Vec<(u64, f64)> = scores.into_iter().collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_in_both_rankings_come_before_those_in_one() {
        let order: Vec<u64> = fused(&[vec![1, 2, 3], vec![4, 3, 5]]).into_iter().map(|(id, _)| id).collect();
        assert_eq!(order, [3, 4, 1, 2, 5]);
        assert!(fused(&[]).is_empty());
    }

    #[test]
    fn similarity_does_not_depend_on_vector_lengths() {
        assert!((nearness(&[1.0, 1.0], &[5.0, 5.0]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(nearness(&[1.0, 0.0], &[0.0, 3.0]), Some(0.0));
        assert!((nearness(&[f32::MAX, 0.0], &[-f32::MAX, 0.0]).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(nearness(&[1.0], &[1.0, 0.0]), None);
        assert_eq!(nearness(&[0.0], &[1.0]), None);
    }
}
