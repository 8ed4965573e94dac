//! Mutual reachability: distances that include the density at both ends.

/// Two different points and their distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NearPair {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) distance: f64,
}

/// Stretches every distance to the core distances of both points, so that a single stray point cannot bridge two
/// dense regions. Pairs with a point that has too few others near it are dropped: it is not in a dense region.
pub(crate) fn mutually_reachable(
    point_count: usize,
    pairs: &[NearPair],
    minimum_samples: usize,
) -> Vec<NearPair> {
    let core_distances = core_distances(point_count, pairs, minimum_samples);
    let stretched = pairs.iter().map(|pair| {
        let core = core_distances[pair.left].max(core_distances[pair.right]);
        NearPair { distance: pair.distance.max(core), ..*pair }
    });
    stretched.filter(|pair| pair.distance.is_finite()).collect()
}

/// Distance of each point to its `minimum_samples`-th nearest point, counting itself; infinite if fewer points are
/// near it.
fn core_distances(point_count: usize, pairs: &[NearPair], minimum_samples: usize) -> Vec<f64> {
    let others = minimum_samples.saturating_sub(1);
    if others == 0 {
        return vec![0.0; point_count];
    }
    let mut nearest = vec![Vec::with_capacity(others); point_count];
    for pair in pairs {
        insert_if_near(&mut nearest[pair.left], pair.distance, others);
        insert_if_near(&mut nearest[pair.right], pair.distance, others);
    }
    nearest.iter().map(|distances| distances.get(others - 1).copied().unwrap_or(f64::INFINITY)).collect()
}

/// Keeps the `limit` smallest distances, sorted. The limit is small, so insertion is faster than a heap.
fn insert_if_near(distances: &mut Vec<f64>, distance: f64, limit: usize) {
    let position = distances.partition_point(|&nearer| nearer <= distance);
    if position < limit {
        distances.truncate(limit - 1);
        distances.insert(position, distance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points at 0, 1 and 3 on a line.
    const LINE: [NearPair; 3] = [pair(0, 1, 1.0), pair(0, 2, 3.0), pair(1, 2, 2.0)];

    const fn pair(left: usize, right: usize, distance: f64) -> NearPair {
        NearPair { left, right, distance }
    }

    #[test]
    fn core_distances_count_the_point_itself() {
        assert_eq!(core_distances(3, &LINE, 0), [0.0, 0.0, 0.0]);
        assert_eq!(core_distances(3, &LINE, 1), [0.0, 0.0, 0.0]);
        assert_eq!(core_distances(3, &LINE, 2), [1.0, 1.0, 2.0]);
        assert_eq!(core_distances(3, &LINE, 3), [3.0, 2.0, 3.0]);
        assert_eq!(core_distances(3, &LINE, 4), [f64::INFINITY; 3]);
    }

    #[test]
    fn distances_are_stretched_to_the_sparser_end() {
        let stretched = mutually_reachable(3, &LINE, 2);
        assert_eq!(stretched, [pair(0, 1, 1.0), pair(0, 2, 3.0), pair(1, 2, 2.0)]);
        let stretched = mutually_reachable(3, &LINE, 3);
        assert_eq!(stretched, [pair(0, 1, 3.0), pair(0, 2, 3.0), pair(1, 2, 3.0)]);
        assert!(mutually_reachable(3, &LINE, 4).is_empty());
    }
}
