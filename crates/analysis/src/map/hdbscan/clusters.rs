//! HDBSCAN in one call, and its last step: selection of the most stable clusters.

use super::condensed_tree::{CondensedTree, ROOT};
use super::dendrogram::Dendrogram;
use super::reachability::{NearPair, mutually_reachable};

/// Definition of a dense region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DensityOptions {
    /// Smallest number of points in a cluster.
    pub(crate) minimum_cluster_size: usize,
    /// Number of points, itself included, that must be near a point for it to be in a dense region.
    pub(crate) minimum_samples: usize,
    /// Points farther apart than this are unrelated, and their pairs are not listed. `None` if all are.
    pub(crate) farthest: Option<f64>,
}

/// The cluster of each point, numbered without meaning; `None` is noise.
pub(crate) fn hdbscan(
    point_count: usize,
    pairs: &[NearPair],
    options: &DensityOptions,
) -> Vec<Option<usize>> {
    let minimum_size = options.minimum_cluster_size.max(2);
    let reachable = mutually_reachable(point_count, pairs, options.minimum_samples);
    let dendrogram = Dendrogram::new(point_count, reachable);
    let tree = CondensedTree::new(&dendrogram, minimum_size, options.farthest);
    let chosen = chosen_clusters(&tree);
    tree.last_cluster_of.iter().map(|&cluster| chosen[cluster]).collect()
}

/// Chosen cluster that contains each cluster.
///
/// From the leaves upwards, a cluster is kept if it is at least as stable as the best choice among the clusters
/// inside it; from the root downwards, the first kept cluster takes all its descendants.
fn chosen_clusters(tree: &CondensedTree) -> Vec<Option<usize>> {
    let count = tree.clusters.len();
    let mut stability_inside = vec![0.0; count];
    let mut is_kept = vec![false; count];
    for (number, cluster) in tree.clusters.iter().enumerate().skip(1).rev() {
        is_kept[number] = cluster.stability >= stability_inside[number];
        stability_inside[cluster.parent] += cluster.stability.max(stability_inside[number]);
    }
    let mut chosen = vec![None; count];
    for (number, cluster) in tree.clusters.iter().enumerate().skip(ROOT + 1) {
        let own = is_kept[number].then_some(number);
        chosen[number] = chosen[cluster.parent].or(own);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::map::partition::CommunityPartition;

    /// Clusters points of the plane.
    fn clusters(points: &[[f64; 2]], options: &DensityOptions) -> Vec<Option<usize>> {
        let mut pairs = Vec::new();
        for (left, [x, y]) in points.iter().enumerate() {
            for (right, [other_x, other_y]) in points.iter().enumerate().skip(left + 1) {
                pairs.push(NearPair { left, right, distance: (x - other_x).hypot(y - other_y) });
            }
        }
        pairs.retain(|pair| options.farthest.is_none_or(|farthest| pair.distance <= farthest));
        hdbscan(points.len(), &pairs, options)
    }

    /// Compares with scikit-learn's labels in the fixture, up to the numbering of clusters.
    fn check(fixture: &str) {
        let mut lines = fixture.lines();
        let numbers = |line: &str| line.split(' ').map(|field| field.parse().unwrap()).collect::<Vec<f64>>();
        let mut sizes = lines.next().unwrap().split(' ').map(|field| field.parse().unwrap());
        let options = DensityOptions {
            minimum_cluster_size: sizes.next().unwrap(),
            minimum_samples: sizes.next().unwrap(),
            farthest: None,
        };
        let rows: Vec<Vec<f64>> = lines.map(numbers).collect();
        let points: Vec<[f64; 2]> = rows.iter().map(|row| [row[0], row[1]]).collect();
        let actual = clusters(&points, &options);
        let mut ours_to_theirs: BTreeMap<Option<usize>, i64> = BTreeMap::from([(None, -1)]);
        let mut theirs_to_ours: BTreeMap<i64, Option<usize>> = BTreeMap::from([(-1, None)]);
        for (row, ours) in rows.iter().zip(actual) {
            #[expect(clippy::cast_possible_truncation, reason = "labels are small whole numbers")]
            let theirs = row[2] as i64;
            assert_eq!(*ours_to_theirs.entry(ours).or_insert(theirs), theirs, "{row:?}");
            assert_eq!(*theirs_to_ours.entry(theirs).or_insert(ours), ours, "{row:?}");
        }
    }

    #[test]
    fn agrees_with_scikit_learn() {
        check(include_str!("../fixtures/hdbscan_blobs.txt"));
        check(include_str!("../fixtures/hdbscan_moons.txt"));
        check(include_str!("../fixtures/hdbscan_nested.txt"));
        check(include_str!("../fixtures/hdbscan_uniform.txt"));
    }

    const SMALL: DensityOptions =
        DensityOptions { minimum_cluster_size: 3, minimum_samples: 2, farthest: None };

    #[test]
    fn too_few_points_are_noise() {
        assert!(clusters(&[], &SMALL).is_empty());
        assert_eq!(clusters(&[[0.0, 0.0]], &SMALL), [None]);
        assert_eq!(clusters(&[[0.0, 0.0]; 2], &SMALL), [None, None]);
    }

    #[test]
    fn single_cluster_among_noise_is_found_when_distance_is_bounded() {
        let points = [[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [50.0, 0.0], [0.0, 70.0]];
        let clusters = clusters(&points, &DensityOptions { farthest: Some(1.0), ..SMALL });
        assert!(clusters[0].is_some() && clusters[0] == clusters[1] && clusters[1] == clusters[2]);
        assert_eq!(clusters[3..], [None, None]);
    }

    /// scikit-learn assigns the point in the middle to either side, depending on the order of its input.
    #[test]
    fn point_midway_between_two_clusters_belongs_to_neither() {
        let points = [-4.0, -3.5, -3.0, 0.0, 3.0, 3.5, 4.0].map(|x| [x, 0.0]);
        let clusters = clusters(&points, &SMALL);
        assert!(clusters[0].is_some() && clusters[0] == clusters[2]);
        assert!(clusters[4].is_some() && clusters[4] == clusters[6]);
        assert_eq!(clusters[3], None);
    }

    #[test]
    fn points_in_the_same_place_are_one_cluster() {
        let points = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [9.0, 9.0], [9.0, 9.0], [9.0, 9.0]];
        let clusters = clusters(&points, &SMALL);
        assert!(clusters[0].is_some() && clusters[0] == clusters[2]);
        assert!(clusters[3].is_some() && clusters[3] == clusters[5] && clusters[3] != clusters[0]);
    }

    proptest! {
        /// On a small grid nearly all distances are tied.
        #[test]
        fn point_order_does_not_affect_the_clusters(
            points in proptest::collection::vec((0_i32..7, 0_i32..7), 0..50),
            rotation in 0_usize..50,
        ) {
            let mut points: Vec<[f64; 2]> =
                points.into_iter().map(|(x, y)| [f64::from(x), f64::from(y)]).collect();
            let label = |cluster: Option<usize>, point: usize| cluster.map_or(2 * point, |cluster| 2 * cluster + 1);
            let labels = |clusters: Vec<Option<usize>>| -> Vec<usize> {
                clusters.into_iter().zip(0..).map(|(cluster, point)| label(cluster, point)).collect()
            };
            let options = DensityOptions { minimum_samples: 3, ..SMALL };
            let mut expected = labels(clusters(&points, &options));
            let rotation = rotation % points.len().max(1);
            points.rotate_left(rotation);
            expected.rotate_left(rotation);
            let actual = labels(clusters(&points, &options));
            prop_assert_eq!(CommunityPartition::from_labels(&actual), CommunityPartition::from_labels(&expected));
        }

        #[test]
        fn every_cluster_has_the_minimum_size(
            points in proptest::collection::vec((0_i32..12, 0_i32..12), 0..60),
            farthest in proptest::option::of(0.0..6.0_f64),
        ) {
            let points: Vec<[f64; 2]> =
                points.into_iter().map(|(x, y)| [f64::from(x), f64::from(y)]).collect();
            let clusters = clusters(&points, &DensityOptions { farthest, ..SMALL });
            let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
            clusters.into_iter().flatten().for_each(|cluster| *sizes.entry(cluster).or_default() += 1);
            prop_assert!(sizes.values().all(|&size| size >= SMALL.minimum_cluster_size));
        }
    }
}
