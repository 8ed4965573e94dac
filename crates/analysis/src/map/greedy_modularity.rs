//! Greedy modularity: join the two linked communities whose union gains most, until no union gains.
//!
//! Clauset, Newman and Moore, "Finding community structure in very large networks" (2004). The paper keeps the
//! exact best merge of every community in heaps that are updated in place. This implementation keeps only an upper
//! bound per community: raised immediately when a merge improves, and checked when it reaches the top of the heap.
//! In a repository where everything imports `utils`, most gains change at every union and almost none are ever
//! used, so that not keeping them is ten times faster than keeping them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::graph::WeightedGraph;
use super::partition::CommunityPartition;

/// Groups the nodes of a graph. Equal gains go to the community with the lowest index.
pub(crate) fn greedy_modularity(graph: &WeightedGraph) -> CommunityPartition {
    let mut unions = GreedyMergeState::new(graph);
    while let Some(bound) = unions.bounds.pop() {
        if !unions.is_latest(&bound) {
            continue;
        }
        match unions.best_merge(bound.community) {
            Some(merge) if merge.gain >= bound.gain => unions.unite(bound.community, merge.partner),
            _ => unions.renew_bound(bound.community),
        }
    }
    CommunityPartition::from_labels(&unions.resolved_labels())
}

/// Upper bound: no union with this community gains more than `gain`.
struct MergeGainBound {
    gain: f64,
    community: usize,
}

/// Gain of a union with `partner`.
struct CommunityMerge {
    gain: f64,
    partner: usize,
}

struct GreedyMergeState {
    /// Twice the total weight: the strength of the whole graph.
    total_strength: f64,
    strengths: Vec<f64>,
    /// Weights to the linked communities; empty once a community is absorbed.
    links: Vec<FxHashMap<usize, f64>>,
    absorbed_by: Vec<usize>,
    bounds: BinaryHeap<MergeGainBound>,
    /// Gain of each community's latest bound; other bounds of it in the heap are outdated.
    latest_gains: Vec<f64>,
}

impl GreedyMergeState {
    fn new(graph: &WeightedGraph) -> Self {
        let node_count = graph.node_count();
        let row = |node| graph.links(node).iter().map(|link| (link.node, link.weight)).collect();
        let mut unions = Self {
            total_strength: 2.0 * graph.total_weight(),
            strengths: graph.strengths().to_vec(),
            links: (0..node_count).map(row).collect(),
            absorbed_by: (0..node_count).collect(),
            bounds: BinaryHeap::new(),
            latest_gains: vec![0.0; node_count],
        };
        for node in 0..node_count {
            unions.renew_bound(node);
        }
        unions
    }

    fn is_latest(&self, bound: &MergeGainBound) -> bool {
        self.latest_gains[bound.community].total_cmp(&bound.gain).is_eq()
    }

    /// Union with the largest positive gain. Independent of hash order: ties go to the lowest index.
    fn best_merge(&self, community: usize) -> Option<CommunityMerge> {
        let merges = self.links[community].iter().map(|(&partner, &weight)| CommunityMerge {
            gain: self.gain(community, partner, weight),
            partner,
        });
        merges
            .filter(|merge| merge.gain > 0.0)
            .max_by(|left, right| left.gain.total_cmp(&right.gain).then(right.partner.cmp(&left.partner)))
    }

    /// Modularity gained by the union of two communities linked by `weight`, in units of edge weight.
    fn gain(&self, left: usize, right: usize, weight: f64) -> f64 {
        weight - self.strengths[left] * self.strengths[right] / self.total_strength
    }

    fn renew_bound(&mut self, community: usize) {
        self.latest_gains[community] = 0.0;
        if let Some(merge) = self.best_merge(community) {
            self.push_bound(community, merge.gain);
        }
    }

    fn push_bound(&mut self, community: usize, gain: f64) {
        self.latest_gains[community] = gain;
        self.bounds.push(MergeGainBound { gain, community });
    }

    /// Merges two communities. The one with more links survives, so that fewer links have to be moved.
    fn unite(&mut self, left: usize, right: usize) {
        let right_survives = self.links[right].len() >= self.links[left].len();
        let (survivor, absorbed) = if right_survives { (right, left) } else { (left, right) };
        self.absorbed_by[absorbed] = survivor;
        self.strengths[survivor] += self.strengths[absorbed];
        self.latest_gains[absorbed] = 0.0;
        self.links[survivor].remove(&absorbed);
        for (neighbour, weight) in std::mem::take(&mut self.links[absorbed]) {
            if neighbour != survivor {
                self.links[neighbour].remove(&absorbed);
                *self.links[neighbour].entry(survivor).or_insert(0.0) += weight;
                *self.links[survivor].entry(neighbour).or_insert(0.0) += weight;
            }
        }
        self.renew_bound(survivor);
        self.raise_bounds_of_neighbours(survivor);
    }

    fn raise_bounds_of_neighbours(&mut self, community: usize) {
        let links = std::mem::take(&mut self.links[community]);
        for (&neighbour, &weight) in &links {
            let gain = self.gain(community, neighbour, weight);
            if gain > self.latest_gains[neighbour] {
                self.push_bound(neighbour, gain);
            }
        }
        self.links[community] = links;
    }

    fn resolved_labels(&self) -> Vec<usize> {
        let resolve = |mut node: usize| {
            while self.absorbed_by[node] != node {
                node = self.absorbed_by[node];
            }
            node
        };
        (0..self.absorbed_by.len()).map(resolve).collect()
    }
}

impl Ord for MergeGainBound {
    /// The heap pops the greatest first: the highest gain, then the lowest index.
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.total_cmp(&other.gain).then_with(|| other.community.cmp(&self.community))
    }
}

impl PartialOrd for MergeGainBound {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for MergeGainBound {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for MergeGainBound {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::map::fixtures::{any_graph, karate, les_miserables, planted_partition, two_triangles};
    use crate::map::modularity::modularity;

    /// Expected values are networkx 3.6.1's `greedy_modularity_communities`.
    fn check(graph: &WeightedGraph, expected: f64) {
        let actual = modularity(graph, &greedy_modularity(graph));
        assert!((actual - expected).abs() < 1e-9, "{actual} is not {expected}");
    }

    #[test]
    fn agrees_with_networkx() {
        check(&karate(), 0.380_670_611_440);
        check(&les_miserables(), 0.547_219_660_916);
        check(&planted_partition(), 0.522_878_558_831);
    }

    #[test]
    fn finds_two_triangles() {
        assert_eq!(greedy_modularity(&two_triangles()).labels(), [0, 0, 0, 1, 1, 1]);
    }

    proptest! {
        #[test]
        fn communities_are_connected(graph in any_graph()) {
            let partition = greedy_modularity(&graph);
            prop_assert_eq!(&partition, &partition.connected_parts(&graph));
        }

        /// The result is locally optimal: no union of two linked communities raises modularity.
        #[test]
        fn no_remaining_union_gains(graph in any_graph()) {
            let coarse = graph.aggregated(&greedy_modularity(&graph));
            for edge in coarse.edges().filter(|edge| edge.from != edge.to) {
                let expected = coarse.strength(edge.from) * coarse.strength(edge.to)
                    / (2.0 * coarse.total_weight());
                prop_assert!(edge.weight <= expected + 1e-9);
            }
        }
    }
}
