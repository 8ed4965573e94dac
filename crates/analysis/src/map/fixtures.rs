//! Graphs for tests; the results of other implementations on them are written beside the assertions.
//!
//! The files beside this one were written by networkx 3.6.1 (`karate_club_graph` without weights,
//! `les_miserables_graph`, `planted_partition_graph(6, 20, 0.35, 0.03, seed=7)`) and by scikit-learn 1.9.1
//! (`HDBSCAN`: the first line is `min_cluster_size min_samples`, the others `x y label`; only data whose labels
//! are the same in thirty orders of the points and with both of its algorithms, since otherwise the answer is ambiguous).

use proptest::prelude::*;

use super::graph::WeightedGraph;
use super::map_input::ModuleEdge;

pub(crate) fn karate() -> WeightedGraph {
    parsed(include_str!("fixtures/karate.txt"))
}

pub(crate) fn les_miserables() -> WeightedGraph {
    parsed(include_str!("fixtures/les_miserables.txt"))
}

pub(crate) fn planted_partition() -> WeightedGraph {
    parsed(include_str!("fixtures/planted_partition.txt"))
}

/// Two triangles joined by one edge: the smallest graph with an obvious answer.
pub(crate) fn two_triangles() -> WeightedGraph {
    let pairs = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)];
    WeightedGraph::from_edges(6, pairs.map(|(from, to)| ModuleEdge { from, to, weight: 1.0 }))
}

/// Random sparse graphs, self loops and isolated nodes included.
pub(crate) fn any_graph() -> impl Strategy<Value = WeightedGraph> {
    (1_usize..40).prop_flat_map(|node_count| {
        let edge = (0..node_count, 0..node_count, 1_u32..6);
        proptest::collection::vec(edge, 0..90).prop_map(move |edges| {
            let edges = edges.into_iter();
            let edges = edges.map(|(from, to, weight)| ModuleEdge { from, to, weight: f64::from(weight) });
            WeightedGraph::from_edges(node_count, edges)
        })
    })
}

fn parsed(text: &str) -> WeightedGraph {
    let (node_count, edges) = text.split_once('\n').unwrap();
    let edges = edges.lines().map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        ModuleEdge {
            from: fields[0].parse().unwrap(),
            to: fields[1].parse().unwrap(),
            weight: fields[2].parse().unwrap(),
        }
    });
    WeightedGraph::from_edges(node_count.parse().unwrap(), edges)
}
