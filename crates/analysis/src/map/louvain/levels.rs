//! Main loop of Louvain: move nodes, refine, aggregate, and repeat on the smaller graph.

use std::borrow::Cow;

use super::local_moving::moved_nodes;
use super::refinement::refined;
use crate::map::graph::WeightedGraph;
use crate::map::modularity::modularity;
use crate::map::partition::CommunityPartition;
use crate::map::split_mix::SplitMix64;

/// Largest number of passes. Each pass starts from the last result, and the first one without improvement ends the
/// search; the limit bounds the time on graphs where every pass still improves a little.
const MAXIMUM_PASSES: usize = 10;

/// A pass that gains less than this has only rearranged ties.
const MINIMUM_IMPROVEMENT: f64 = 1e-9;

/// Groups the nodes of a graph into connected communities of high modularity.
pub(crate) fn louvain(graph: &WeightedGraph, random: &mut SplitMix64) -> CommunityPartition {
    let mut best = CommunityPartition::singletons(graph.node_count());
    let mut best_modularity = modularity(graph, &best);
    for _ in 0..MAXIMUM_PASSES {
        let candidate = pass(graph, best.clone(), random);
        let candidate_modularity = modularity(graph, &candidate);
        if candidate_modularity <= best_modularity + MINIMUM_IMPROVEMENT {
            break;
        }
        best = candidate;
        best_modularity = candidate_modularity;
    }
    best
}

/// One descent from the full graph to the level where no node moves any more.
///
/// Each level's nodes are the *refined* communities, which are connected; the unrefined ones are where they
/// start on the next level. The descent ends when every community is a single node of its level.
fn pass(graph: &WeightedGraph, start: CommunityPartition, random: &mut SplitMix64) -> CommunityPartition {
    let mut level = Cow::Borrowed(graph);
    let mut node_in_level = CommunityPartition::singletons(graph.node_count());
    let mut communities = start;
    loop {
        communities = moved_nodes(&level, &communities, random);
        let refined = refined(&level, &communities, random);
        if refined.community_count() == level.node_count() {
            // Either every community is already one node, or ties prevented the refinement from joining any two.
            // Only in the second case can a community still be disconnected.
            return node_in_level.merged_by(&communities).connected_parts(graph);
        }
        communities = refined.lifted(&communities);
        node_in_level = node_in_level.merged_by(&refined);
        level = Cow::Owned(level.aggregated(&refined));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::map::fixtures::{any_graph, karate, les_miserables, planted_partition, two_triangles};

    /// `networkx_best` is the best of twenty seeds of networkx 3.6.1's `louvain_communities`; the result has to
    /// be within 0.01 of it with every seed.
    fn check(graph: &WeightedGraph, networkx_best: f64) {
        for seed in 0..20 {
            let partition = louvain(graph, &mut SplitMix64::new(seed));
            let quality = modularity(graph, &partition);
            assert!(quality >= networkx_best - 0.01, "seed {seed}: {quality} is not {networkx_best}");
        }
    }

    #[test]
    fn reaches_the_modularity_of_networkx() {
        check(&karate(), 0.419_789_612_1);
        check(&les_miserables(), 0.566_687_983_3);
        check(&planted_partition(), 0.541_098_513_5);
    }

    #[test]
    fn finds_two_triangles() {
        let partition = louvain(&two_triangles(), &mut SplitMix64::new(0));
        assert_eq!(partition.labels(), [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn isolated_nodes_stay_alone() {
        let partition = louvain(&WeightedGraph::from_edges(3, []), &mut SplitMix64::new(0));
        assert_eq!(partition, CommunityPartition::singletons(3));
    }

    proptest! {
        #[test]
        fn communities_are_connected(graph in any_graph(), seed: u64) {
            let partition = louvain(&graph, &mut SplitMix64::new(seed));
            prop_assert_eq!(&partition, &partition.connected_parts(&graph));
        }

        #[test]
        fn is_deterministic_and_no_worse_than_one_community(graph in any_graph(), seed: u64) {
            let partition = louvain(&graph, &mut SplitMix64::new(seed));
            prop_assert_eq!(&partition, &louvain(&graph, &mut SplitMix64::new(seed)));
            prop_assert!(modularity(&graph, &partition) >= -1e-9);
        }
    }
}
