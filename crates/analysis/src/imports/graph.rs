//! Questions to the import graph.

use std::collections::VecDeque;

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

/// Strongly connected components of more than one module: each sorted by name, largest first.
pub(crate) fn cycles(names: &[String], edges: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<String>> {
    let mut graph: DiGraph<(), ()> = DiGraph::new();
    for _ in names {
        graph.add_node(());
    }
    for (from, to) in edges {
        graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), ());
    }
    let mut cycles: Vec<Vec<String>> = tarjan_scc(&graph)
        .into_iter()
        .filter(|component| component.len() > 1)
        .map(|component| {
            let mut cycle: Vec<String> = component.iter().map(|node| names[node.index()].clone()).collect();
            cycle.sort_unstable();
            cycle
        })
        .collect();
    cycles.sort_by(|left, right| right.len().cmp(&left.len()).then_with(|| left.cmp(right)));
    cycles
}

/// The modules that `start` needs, at most `depth` imports away, without `start` itself, in the order of discovery.
pub(crate) fn local_dependencies(
    start: usize,
    depth: Option<usize>,
    targets_of: impl Fn(usize) -> Vec<usize>,
) -> Vec<usize> {
    let mut found = vec![start];
    let mut queue = VecDeque::from([(start, 0)]);
    while let Some((module, distance)) = queue.pop_front() {
        if depth.is_some_and(|limit| distance >= limit) {
            continue;
        }
        for target in targets_of(module) {
            if !found.contains(&target) {
                found.push(target);
                queue.push_back((target, distance + 1));
            }
        }
    }
    found.remove(0);
    found
}
