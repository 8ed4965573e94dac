//! The second phase: inside each community, single nodes join well-connected neighbours.
//!
//! Moving nodes can disconnect a community: the node that connected it moves away. Rebuilding every community from
//! single nodes along its own edges yields parts that are connected by construction. Leiden picks among the parts
//! with a gain at random; this implementation takes the best, since the outer passes already vary the order.

use crate::map::graph::WeightedGraph;
use crate::map::modularity::community_strengths;
use crate::map::partition::CommunityPartition;
use crate::map::split_mix::SplitMix64;

/// A partition finer than `communities`, whose parts are connected.
pub(crate) fn refined(
    graph: &WeightedGraph,
    communities: &CommunityPartition,
    random: &mut SplitMix64,
) -> CommunityPartition {
    let mut state = RefinementState::new(graph, communities);
    for node in random.order(graph.node_count()) {
        if state.part_sizes[state.part_of[node]] == 1 {
            state.join_best_part(node);
        }
    }
    CommunityPartition::from_labels(&state.part_of)
}

struct RefinementState<'a> {
    graph: &'a WeightedGraph,
    communities: &'a CommunityPartition,
    community_strengths: Vec<f64>,
    part_of: Vec<usize>,
    part_sizes: Vec<usize>,
    part_strengths: Vec<f64>,
    /// The weight between each part and the rest of its community.
    part_to_community: Vec<f64>,
    /// Scratch: weight between the current node and each part; all zero between visits.
    weight_to: Vec<f64>,
}

impl<'a> RefinementState<'a> {
    fn new(graph: &'a WeightedGraph, communities: &'a CommunityPartition) -> Self {
        let node_count = graph.node_count();
        let weight_to_community = |node: usize| {
            let inside = graph
                .links(node)
                .iter()
                .filter(|link| communities.community_of(link.node) == communities.community_of(node));
            inside.map(|link| link.weight).sum()
        };
        Self {
            graph,
            communities,
            community_strengths: community_strengths(graph, communities),
            part_of: (0..node_count).collect(),
            part_sizes: vec![1; node_count],
            part_strengths: graph.strengths().to_vec(),
            part_to_community: (0..node_count).map(weight_to_community).collect(),
            weight_to: vec![0.0; node_count],
        }
    }

    fn join_best_part(&mut self, node: usize) {
        let community = self.communities.community_of(node);
        if !self.is_well_connected(node, community) {
            return;
        }
        for link in self.graph.links(node) {
            self.weight_to[self.part_of[link.node]] += link.weight;
        }
        if let Some(part) = self.best_part(node, community) {
            self.join(node, part);
        }
        self.weight_to[self.part_of[node]] = 0.0;
        for link in self.graph.links(node) {
            self.weight_to[self.part_of[link.node]] = 0.0;
        }
    }

    fn best_part(&self, node: usize, community: usize) -> Option<usize> {
        let mut best = None;
        let mut best_gain = 0.0;
        for link in self.graph.links(node) {
            let part = self.part_of[link.node];
            let gain =
                self.weight_to[part] - self.expected(self.part_strengths[node], self.part_strengths[part]);
            let is_candidate = self.communities.community_of(link.node) == community && gain > best_gain;
            if is_candidate && self.is_well_connected(part, community) {
                (best, best_gain) = (Some(part), gain);
            }
        }
        best
    }

    /// Joins a single node, which is still the part of its own number, to another part.
    fn join(&mut self, node: usize, part: usize) {
        self.part_of[node] = part;
        self.part_sizes[node] = 0;
        self.part_sizes[part] += 1;
        self.part_strengths[part] += self.part_strengths[node];
        self.part_to_community[part] += self.part_to_community[node] - 2.0 * self.weight_to[part];
    }

    /// A part is well connected when its weight to the rest of its community is at least that expected by chance.
    fn is_well_connected(&self, part: usize, community: usize) -> bool {
        let strength = self.part_strengths[part];
        let rest = self.community_strengths[community] - strength;
        self.part_to_community[part] >= self.expected(strength, rest)
    }

    fn expected(&self, left_strength: f64, right_strength: f64) -> f64 {
        left_strength * right_strength / (2.0 * self.graph.total_weight())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::map::fixtures::{any_graph, two_triangles};

    #[test]
    fn disconnected_community_is_split() {
        // Without the edge between them, the triangles are two disconnected parts of one community.
        let graph = two_triangles();
        let apart = WeightedGraph::from_edges(6, graph.edges().filter(|edge| (edge.from, edge.to) != (2, 3)));
        let parts = refined(&apart, &CommunityPartition::from_labels(&[0; 6]), &mut SplitMix64::new(0));
        assert_eq!(parts, parts.connected_parts(&apart));
        assert_ne!(parts.community_of(0), parts.community_of(5));
    }

    proptest! {
        #[test]
        fn parts_are_connected_and_never_cross_communities(graph in any_graph(), count in 1_usize..5) {
            let labels: Vec<usize> = (0..graph.node_count()).map(|node| node % count).collect();
            let communities = CommunityPartition::from_labels(&labels);
            let parts = refined(&graph, &communities, &mut SplitMix64::new(3));
            prop_assert_eq!(&parts, &parts.connected_parts(&graph));
            for members in parts.members() {
                let community = communities.community_of(members[0]);
                prop_assert!(members.iter().all(|&node| communities.community_of(node) == community));
            }
        }
    }
}
