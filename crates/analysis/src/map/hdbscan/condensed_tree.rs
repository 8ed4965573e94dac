//! The dendrogram read from the top, where only splits into two sizeable parts count as splits.
//!
//! A part that is too small is only noise that leaves its cluster. The result is a small tree of clusters, each
//! with the density at which it appears and the mass it keeps from then on.

use super::dendrogram::Dendrogram;

/// Cluster that contains all points. It is never selected: a single group of everything carries no information.
pub(crate) const ROOT: usize = 0;

/// Lower bound of distances, so that equal documents do not have an infinite density.
const SMALLEST_DISTANCE: f64 = 1e-3;

/// Clusters, each after its parent, and the last cluster of every point.
pub(crate) struct CondensedTree {
    pub(crate) clusters: Vec<CondensedCluster>,
    /// Smallest cluster that contained each point.
    pub(crate) last_cluster_of: Vec<usize>,
}

/// Cluster from the density at which it appears to the density at which it splits.
pub(crate) struct CondensedCluster {
    pub(crate) parent: usize,
    /// The density at which the cluster appears.
    birth: f64,
    /// Excess of mass: the sum over its points of the density range for which each stayed in the cluster.
    pub(crate) stability: f64,
}

impl CondensedTree {
    /// Condenses to clusters of at least `minimum_size` points.
    ///
    /// `farthest` is the distance beyond which points are unrelated. With it, each tree of the forest is a cluster
    /// that appeared at that distance. Without it, as in the paper, each tree belongs to the root cluster.
    pub(crate) fn new(dendrogram: &Dendrogram, minimum_size: usize, farthest: Option<f64>) -> Self {
        let root = CondensedCluster { parent: ROOT, birth: 0.0, stability: 0.0 };
        let last_cluster_of = vec![ROOT; dendrogram.point_count()];
        let mut tree = Self { clusters: vec![root], last_cluster_of };
        let tops = dendrogram.tops().iter().copied();
        let mut pending: Vec<(usize, usize)> = tops
            .filter(|&node| dendrogram.size(node) >= minimum_size)
            .map(|node| (node, farthest.map_or(ROOT, |distance| tree.add_cluster(ROOT, density(distance)))))
            .collect();
        while let Some((node, cluster)) = pending.pop() {
            pending.extend(tree.split_node(dendrogram, node, cluster, minimum_size));
        }
        tree
    }

    /// Splits a node at its farthest distance; returns the parts that are still clusters.
    fn split_node(
        &mut self,
        dendrogram: &Dendrogram,
        node: usize,
        cluster: usize,
        minimum_size: usize,
    ) -> Vec<(usize, usize)> {
        let Some(join) = dendrogram.join(node) else { return Vec::new() };
        let density = density(join.distance);
        let growth = density - self.clusters[cluster].birth;
        let (sizeable, fallen): (Vec<usize>, Vec<usize>) = dendrogram
            .parts(node, join.distance)
            .into_iter()
            .partition(|&part| dendrogram.size(part) >= minimum_size);
        for point in fallen.into_iter().flat_map(|part| dendrogram.points(part)) {
            self.last_cluster_of[point] = cluster;
            self.clusters[cluster].stability += growth;
        }
        if let [remainder] = sizeable[..] {
            return vec![(remainder, cluster)];
        }
        let split = sizeable.into_iter().map(|part| {
            self.clusters[cluster].stability += growth * dendrogram.size(part) as f64;
            (part, self.add_cluster(cluster, density))
        });
        split.collect()
    }

    fn add_cluster(&mut self, parent: usize, birth: f64) -> usize {
        self.clusters.push(CondensedCluster { parent, birth, stability: 0.0 });
        self.clusters.len() - 1
    }
}

fn density(distance: f64) -> f64 {
    1.0 / distance.max(SMALLEST_DISTANCE)
}
