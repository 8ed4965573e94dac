//! Modularity: the weight inside communities in excess of that expected in a random graph.

use super::graph::WeightedGraph;
use super::partition::CommunityPartition;

/// Newman's Q for weighted graphs ("Analysis of weighted networks", 2004), resolution 1. A graph without
/// edges has a modularity of zero.
pub(crate) fn modularity(graph: &WeightedGraph, partition: &CommunityPartition) -> f64 {
    let total_weight = graph.total_weight();
    if total_weight <= 0.0 {
        return 0.0;
    }
    let mut weight_inside = vec![0.0; partition.community_count()];
    for edge in graph.edges() {
        let community = partition.community_of(edge.from);
        if community == partition.community_of(edge.to) {
            weight_inside[community] += edge.weight;
        }
    }
    let strengths = community_strengths(graph, partition);
    weight_inside
        .iter()
        .zip(strengths)
        .map(|(inside, strength)| inside / total_weight - (strength / (2.0 * total_weight)).powi(2))
        .sum()
}

/// The summed strength of each community's nodes.
pub(crate) fn community_strengths(graph: &WeightedGraph, partition: &CommunityPartition) -> Vec<f64> {
    let mut strengths = vec![0.0; partition.community_count()];
    for (&community, strength) in partition.labels().iter().zip(graph.strengths()) {
        strengths[community] += strength;
    }
    strengths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::fixtures::{karate, les_miserables, planted_partition};
    use crate::map::map_input::ModuleEdge;

    /// Expected values are networkx 3.6.1's `community.modularity` for the communities `node % 3`.
    fn check(graph: &WeightedGraph, expected: f64) {
        let labels: Vec<usize> = (0..graph.node_count()).map(|node| node % 3).collect();
        let actual = modularity(graph, &CommunityPartition::from_labels(&labels));
        assert!((actual - expected).abs() < 1e-12, "{actual} is not {expected}");
    }

    #[test]
    fn agrees_with_networkx() {
        check(&karate(), -0.009_615_384_615_385);
        check(&les_miserables(), -0.098_718_768_590_125);
        check(&planted_partition(), -0.016_184_177_374_654);
    }

    #[test]
    fn is_zero_without_edges_and_for_one_community() {
        let empty = WeightedGraph::from_edges(3, []);
        assert!(modularity(&empty, &CommunityPartition::singletons(3)).abs() < 1e-12);
        assert!(modularity(&karate(), &CommunityPartition::from_labels(&[0; 34])).abs() < 1e-12);
    }

    #[test]
    fn aggregation_does_not_change_modularity() {
        let graph = karate();
        let halves = CommunityPartition::from_labels(&(0..34).map(|node| node / 17).collect::<Vec<_>>());
        let coarse = graph.aggregated(&halves);
        let difference =
            modularity(&graph, &halves) - modularity(&coarse, &CommunityPartition::singletons(2));
        assert!(difference.abs() < 1e-12);
    }

    #[test]
    fn self_loop_counts_as_inner_weight() {
        let edges = [ModuleEdge { from: 0, to: 0, weight: 1.0 }, ModuleEdge { from: 1, to: 1, weight: 1.0 }];
        let graph = WeightedGraph::from_edges(2, edges);
        assert!((modularity(&graph, &CommunityPartition::singletons(2)) - 0.5).abs() < 1e-12);
    }
}
