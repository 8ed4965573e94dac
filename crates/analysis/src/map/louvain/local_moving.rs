//! The first phase: nodes move to the neighbouring community that gains most, until no move gains.
//!
//! A queue holds the nodes whose neighbourhood changed, as in Leiden; Louvain's repeated sweeps visit every node
//! again to find the few that still move.

use std::collections::VecDeque;

use crate::map::graph::WeightedGraph;
use crate::map::modularity::community_strengths;
use crate::map::partition::CommunityPartition;
use crate::map::split_mix::SplitMix64;

/// A move has to gain more than this share of the total weight, or rounding could keep two nodes swapping.
const MINIMUM_GAIN: f64 = 1e-10;

/// The partition reached from `start` when no single move raises modularity.
pub(crate) fn moved_nodes(
    graph: &WeightedGraph,
    start: &CommunityPartition,
    random: &mut SplitMix64,
) -> CommunityPartition {
    let mut state = LocalMovingState::new(graph, start);
    let mut queue = VecDeque::from(random.order(graph.node_count()));
    let mut is_queued = vec![true; graph.node_count()];
    while let Some(node) = queue.pop_front() {
        is_queued[node] = false;
        let Some(target) = state.move_to_best_community(node) else { continue };
        for link in graph.links(node) {
            if state.labels[link.node] != target && !is_queued[link.node] {
                is_queued[link.node] = true;
                queue.push_back(link.node);
            }
        }
    }
    CommunityPartition::from_labels(&state.labels)
}

struct LocalMovingState<'a> {
    graph: &'a WeightedGraph,
    labels: Vec<usize>,
    community_strengths: Vec<f64>,
    community_sizes: Vec<usize>,
    empty_communities: Vec<usize>,
    /// Scratch: weight between the current node and each community; all zero between visits.
    weight_to: Vec<f64>,
}

impl<'a> LocalMovingState<'a> {
    fn new(graph: &'a WeightedGraph, start: &CommunityPartition) -> Self {
        let node_count = graph.node_count();
        let mut strengths = community_strengths(graph, start);
        strengths.resize(node_count, 0.0);
        let mut sizes: Vec<usize> = start.members().iter().map(Vec::len).collect();
        sizes.resize(node_count, 0);
        Self {
            graph,
            labels: start.labels().to_vec(),
            community_strengths: strengths,
            community_sizes: sizes,
            empty_communities: (start.community_count()..node_count).rev().collect(),
            weight_to: vec![0.0; node_count],
        }
    }

    /// Moves a node; returns its new community, or `None` if it stays.
    fn move_to_best_community(&mut self, node: usize) -> Option<usize> {
        let source = self.labels[node];
        let strength = self.graph.strength(node);
        self.community_strengths[source] -= strength;
        let target = self.best_community(node);
        self.community_strengths[target] += strength;
        if target == source {
            return None;
        }
        self.labels[node] = target;
        self.community_sizes[source] -= 1;
        self.community_sizes[target] += 1;
        if self.community_sizes[target] == 1 {
            self.empty_communities.pop();
        }
        if self.community_sizes[source] == 0 {
            self.empty_communities.push(source);
        }
        Some(target)
    }

    /// Ties keep the node where it is, or else go to the community of the neighbour with the lowest index.
    fn best_community(&mut self, node: usize) -> usize {
        let graph = self.graph;
        for link in graph.links(node) {
            self.weight_to[self.labels[link.node]] += link.weight;
        }
        let minimum_gain = MINIMUM_GAIN * graph.total_weight();
        let mut best = self.labels[node];
        let mut best_gain = self.gain(node, best) + minimum_gain;
        for link in graph.links(node) {
            let candidate = self.labels[link.node];
            let gain = self.gain(node, candidate);
            if gain > best_gain {
                (best, best_gain) = (candidate, gain);
            }
        }
        for link in graph.links(node) {
            self.weight_to[self.labels[link.node]] = 0.0;
        }
        // A community of its own has a gain of zero.
        let new_community = self.empty_communities.last().copied();
        new_community.filter(|_| best_gain < 0.0).unwrap_or(best)
    }

    /// Modularity gained by putting the node, now in no community, into one; in units of edge weight.
    fn gain(&self, node: usize, community: usize) -> f64 {
        let expected = self.graph.strength(node) * self.community_strengths[community]
            / (2.0 * self.graph.total_weight());
        self.weight_to[community] - expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::fixtures::{karate, two_triangles};
    use crate::map::modularity::modularity;

    #[test]
    fn optimal_partition_is_unchanged() {
        let graph = two_triangles();
        let triangles = CommunityPartition::from_labels(&[0, 0, 0, 1, 1, 1]);
        assert_eq!(moved_nodes(&graph, &triangles, &mut SplitMix64::new(1)), triangles);
    }

    #[test]
    fn moves_only_raise_modularity() {
        let graph = karate();
        let start = CommunityPartition::from_labels(&(0..34).map(|node| node % 4).collect::<Vec<_>>());
        let moved = moved_nodes(&graph, &start, &mut SplitMix64::new(1));
        assert!(modularity(&graph, &moved) > modularity(&graph, &start) + 0.3);
    }

    #[test]
    fn misplaced_node_may_move_to_a_new_community() {
        let start = CommunityPartition::from_labels(&[0; 6]);
        let moved = moved_nodes(&two_triangles(), &start, &mut SplitMix64::new(1));
        assert!(modularity(&two_triangles(), &moved) >= 0.0);
    }
}
