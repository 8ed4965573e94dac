//! Single linkage: the order in which growing distance joins points into fewer and fewer parts.

use super::reachability::NearPair;

/// A forest of binary trees whose leaves `0..point_count` are the points; later nodes are joins, each after its
/// children. Points that no chain of pairs connects are in different trees.
pub(crate) struct Dendrogram {
    point_count: usize,
    joins: Vec<Join>,
    tops: Vec<usize>,
}

/// Two nodes that become one at a distance.
pub(crate) struct Join {
    pub(crate) children: [usize; 2],
    pub(crate) distance: f64,
    size: usize,
}

impl Dendrogram {
    /// Joins along the pairs of a spanning forest, nearest first and then in the given order.
    pub(crate) fn new(point_count: usize, mut forest: Vec<NearPair>) -> Self {
        forest.sort_by(|left, right| left.distance.total_cmp(&right.distance));
        let mut dendrogram = Self { point_count, joins: Vec::new(), tops: Vec::new() };
        let mut parents: Vec<usize> = (0..point_count).collect();
        for pair in forest {
            let children = [topmost(&mut parents, pair.left), topmost(&mut parents, pair.right)];
            let node = parents.len();
            parents.push(node);
            for child in children {
                parents[child] = node;
            }
            let size = children.iter().map(|&child| dendrogram.size(child)).sum();
            dendrogram.joins.push(Join { children, distance: pair.distance, size });
        }
        dendrogram.tops = (0..parents.len()).filter(|&node| parents[node] == node).collect();
        dendrogram
    }

    pub(crate) fn point_count(&self) -> usize {
        self.point_count
    }

    /// The nodes that are in no other node; together they hold all points.
    pub(crate) fn tops(&self) -> &[usize] {
        &self.tops
    }

    /// How a node came to be; `None` for a point.
    pub(crate) fn join(&self, node: usize) -> Option<&Join> {
        self.joins.get(node.checked_sub(self.point_count)?)
    }

    /// How many points a node holds.
    pub(crate) fn size(&self, node: usize) -> usize {
        self.join(node).map_or(1, |join| join.size)
    }

    /// The points a node holds.
    pub(crate) fn points(&self, node: usize) -> Vec<usize> {
        let mut points = Vec::new();
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            match self.join(node) {
                Some(join) => pending.extend(join.children),
                None => points.push(node),
            }
        }
        points
    }
}

/// Union-find with path halving.
fn topmost(parents: &mut [usize], mut node: usize) -> usize {
    while parents[node] != node {
        parents[node] = parents[parents[node]];
        node = parents[node];
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(left: usize, right: usize, distance: f64) -> NearPair {
        NearPair { left, right, distance }
    }

    #[test]
    fn joins_the_nearest_first() {
        let dendrogram = Dendrogram::new(4, vec![pair(0, 1, 5.0), pair(1, 2, 1.0), pair(2, 3, 2.0)]);
        let joins: Vec<_> = dendrogram.joins.iter().map(|join| (join.children, join.size)).collect();
        assert_eq!(joins, [([1, 2], 2), ([4, 3], 3), ([0, 5], 4)]);
        assert_eq!(dendrogram.tops(), [6]);
        let mut points = dendrogram.points(5);
        points.sort_unstable();
        assert_eq!(points, [1, 2, 3]);
    }

    #[test]
    fn unconnected_points_are_trees_of_their_own() {
        assert_eq!(Dendrogram::new(3, vec![pair(0, 2, 1.0)]).tops(), [1, 3]);
        assert!(Dendrogram::new(0, vec![]).tops().is_empty());
    }
}
