//! Groups by wording alone: HDBSCAN over the similar pairs of documents.

use super::embed::SimilarPair;
use super::hdbscan::{DensityOptions, NearPair, hdbscan};
use super::partition::CommunityPartition;

/// Two modules with similar wording are a coincidence or a pair of copies; three are a theme.
const SMALLEST_THEME: usize = 3;

/// Modules grouped by their wording.
pub(crate) struct ModuleThemes {
    /// Every theme is a community, and so is every module without one.
    pub(crate) partition: CommunityPartition,
    /// The modules without a theme, ascending.
    pub(crate) noise: Vec<usize>,
}

/// Clusters modules by the pairs whose cosine is at least `threshold`.
pub(crate) fn themes(module_count: usize, similar: &[SimilarPair], threshold: f64) -> ModuleThemes {
    let options = DensityOptions {
        minimum_cluster_size: SMALLEST_THEME,
        minimum_samples: SMALLEST_THEME,
        farthest: Some(distance_at(threshold)),
    };
    let near: Vec<NearPair> = similar
        .iter()
        .map(|pair| NearPair { left: pair.left, right: pair.right, distance: distance_at(pair.cosine) })
        .collect();
    let clusters = hdbscan(module_count, &near, &options);
    let noise = (0..module_count).filter(|&module| clusters[module].is_none()).collect();
    // Labels of clusters are odd and those of noise are even, so that they never collide.
    let label = |(module, cluster): (usize, &Option<usize>)| match cluster {
        Some(cluster) => 2 * cluster + 1,
        None => 2 * module,
    };
    let labels: Vec<usize> = clusters.iter().enumerate().map(label).collect();
    ModuleThemes { partition: CommunityPartition::from_labels(&labels), noise }
}

/// Euclidean distance between unit vectors: it orders pairs as the cosine does and, unlike `1 - cosine`, obeys
/// the triangle inequality, which the definition of density requires.
fn distance_at(cosine: f64) -> f64 {
    (2.0 - 2.0 * cosine).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::embed::{SparseVector, similar_pairs};

    #[test]
    fn equal_documents_are_a_theme_and_empty_ones_are_not() {
        let twin = || SparseVector::new([(1, 1.0), (2, 2.0)]);
        let empty = || SparseVector::default();
        let vectors = [twin(), empty(), twin(), empty(), twin(), empty()];
        for threshold in [0.0, 0.1, 1.0] {
            let themes = themes(6, &similar_pairs(&vectors, threshold), threshold);
            assert_eq!(themes.partition.labels(), [0, 1, 0, 2, 0, 3], "{threshold}");
            assert_eq!(themes.noise, [1, 3, 5]);
        }
    }
}
