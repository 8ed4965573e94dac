//! The minimum spanning forest: of all pairs, the few that single linkage needs.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::reachability::NearPair;

/// Prim's algorithm over listed pairs, from the lowest point of every tree; equal distances go to the lowest point.
///
/// Stretched distances are full of ties, and which of them enter the forest shows in the clusters. Sorting all
/// pairs (Kruskal) would be as correct; growing from point 0 is what other implementations do, and so we agree
/// with scikit-learn on ties too.
pub(crate) fn spanning_forest(point_count: usize, pairs: &[NearPair]) -> Vec<NearPair> {
    let neighbours = neighbours(point_count, pairs);
    let mut is_reached = vec![false; point_count];
    let mut frontier = BinaryHeap::new();
    let mut forest = Vec::new();
    for start in 0..point_count {
        if is_reached[start] {
            continue;
        }
        is_reached[start] = true;
        frontier.extend(neighbours[start].iter().copied().map(Step));
        while let Some(Step(pair)) = frontier.pop() {
            if is_reached[pair.right] {
                continue;
            }
            is_reached[pair.right] = true;
            forest.push(pair);
            let onward = neighbours[pair.right].iter().filter(|next| !is_reached[next.right]);
            frontier.extend(onward.copied().map(Step));
        }
    }
    forest
}

/// For each point its pairs, turned so that the point is on the left.
fn neighbours(point_count: usize, pairs: &[NearPair]) -> Vec<Vec<NearPair>> {
    let mut neighbours = vec![Vec::new(); point_count];
    for pair in pairs {
        neighbours[pair.left].push(*pair);
        neighbours[pair.right].push(NearPair { left: pair.right, right: pair.left, ..*pair });
    }
    neighbours
}

/// A pair that leads from a reached point on the left to one on the right.
struct Step(NearPair);

impl Ord for Step {
    /// The heap takes the greatest first: the shortest step, to the lowest point, from the lowest point.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_distance = other.0.distance.total_cmp(&self.0.distance);
        by_distance.then_with(|| (other.0.right, other.0.left).cmp(&(self.0.right, self.0.left)))
    }
}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Step {}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(left: usize, right: usize, distance: f64) -> NearPair {
        NearPair { left, right, distance }
    }

    #[test]
    fn grows_along_the_shortest_pairs() {
        let pairs = [pair(0, 1, 5.0), pair(0, 2, 1.0), pair(1, 2, 4.0), pair(1, 3, 1.0), pair(2, 3, 4.0)];
        assert_eq!(spanning_forest(4, &pairs), [pair(0, 2, 1.0), pair(2, 1, 4.0), pair(1, 3, 1.0)]);
    }

    #[test]
    fn every_tree_is_grown() {
        let pairs = [pair(0, 3, 1.0), pair(1, 2, 2.0)];
        assert_eq!(spanning_forest(5, &pairs), pairs);
        assert!(spanning_forest(0, &[]).is_empty());
    }
}
