//! Single linkage: the order in which points are joined into larger parts as the distance grows.

use super::reachability::NearPair;

/// A forest of binary trees whose leaves `0..point_count` are the points; later nodes are joins, each after its
/// children. Points that no chain of pairs connects are in different trees.
pub(crate) struct Dendrogram {
    point_count: usize,
    joins: Vec<DendrogramJoin>,
    tops: Vec<usize>,
}

/// Two nodes that become one at a distance.
pub(crate) struct DendrogramJoin {
    children: [usize; 2],
    pub(crate) distance: f64,
    size: usize,
}

impl Dendrogram {
    /// Joins along the pairs, nearest first (Kruskal's algorithm: the pairs that join two parts are the minimum
    /// spanning forest).
    pub(crate) fn new(point_count: usize, mut pairs: Vec<NearPair>) -> Self {
        pairs.sort_by(|left, right| left.distance.total_cmp(&right.distance));
        let mut dendrogram = Self { point_count, joins: Vec::new(), tops: Vec::new() };
        let mut parents: Vec<usize> = (0..point_count).collect();
        for pair in pairs {
            let children = [topmost(&mut parents, pair.left), topmost(&mut parents, pair.right)];
            if children[0] == children[1] {
                continue;
            }
            let node = parents.len();
            parents.push(node);
            for child in children {
                parents[child] = node;
            }
            let size = children.iter().map(|&child| dendrogram.size(child)).sum();
            dendrogram.joins.push(DendrogramJoin { children, distance: pair.distance, size });
        }
        dendrogram.tops = (0..parents.len()).filter(|&node| parents[node] == node).collect();
        dendrogram
    }

    pub(crate) fn point_count(&self) -> usize {
        self.point_count
    }

    /// Root nodes of the forest; together they contain all points.
    pub(crate) fn tops(&self) -> &[usize] {
        &self.tops
    }

    /// Join that created a node; `None` for a point.
    pub(crate) fn join(&self, node: usize) -> Option<&DendrogramJoin> {
        self.joins.get(node.checked_sub(self.point_count)?)
    }

    /// Number of points in a node.
    pub(crate) fn size(&self, node: usize) -> usize {
        self.join(node).map_or(1, |join| join.size)
    }

    /// Points in a node.
    pub(crate) fn points(&self, node: usize) -> Vec<usize> {
        self.parts(node, 0.0)
    }

    /// Nodes into which a node splits when joins at `distance` or farther are undone.
    pub(crate) fn parts(&self, node: usize, distance: f64) -> Vec<usize> {
        let mut parts = Vec::new();
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            match self.join(node) {
                Some(join) if join.distance >= distance => pending.extend(join.children),
                _ => parts.push(node),
            }
        }
        parts
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
        let pairs = vec![pair(0, 1, 5.0), pair(1, 2, 1.0), pair(2, 3, 2.0), pair(1, 3, 3.0)];
        let dendrogram = Dendrogram::new(4, pairs);
        let joins: Vec<_> = dendrogram.joins.iter().map(|join| (join.children, join.size)).collect();
        assert_eq!(joins, [([1, 2], 2), ([4, 3], 3), ([0, 5], 4)]);
        assert_eq!(dendrogram.tops(), [6]);
        let mut points = dendrogram.points(5);
        points.sort_unstable();
        assert_eq!(points, [1, 2, 3]);
        assert_eq!(dendrogram.parts(6, 2.0), [3, 4, 0]);
    }

    #[test]
    fn unconnected_points_are_separate_trees() {
        assert_eq!(Dendrogram::new(3, vec![pair(0, 2, 1.0)]).tops(), [1, 3]);
        assert!(Dendrogram::new(0, vec![]).tops().is_empty());
    }
}
