//! Queries on the import graph: cycles and dependencies.

use std::collections::VecDeque;

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use rustc_hash::FxHashSet;

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

/// The modules that `start` needs, at most `depth` imports away, without `start` itself, nearest first.
pub(crate) fn local_dependencies(
    start: usize,
    depth: Option<usize>,
    targets_of: impl Fn(usize) -> Vec<usize>,
) -> Vec<usize> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::from_iter([start]);
    let mut queue = VecDeque::from([(start, 0)]);
    while let Some((module, distance)) = queue.pop_front() {
        if depth.is_some_and(|limit| distance >= limit) {
            continue;
        }
        for target in targets_of(module) {
            if seen.insert(target) {
                found.push(target);
                queue.push_back((target, distance + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_sorted_and_exclude_single_modules() {
        let names: Vec<String> = ["d", "c", "b", "a", "e"].map(str::to_owned).to_vec();
        let edges = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 4), (4, 2)];
        let expected = [vec!["a", "b", "e"], vec!["c", "d"]];
        assert_eq!(cycles(&names, edges.into_iter()), expected);
    }

    #[test]
    fn dependencies_stop_at_the_depth_and_survive_cycles() {
        let targets = |module: usize| vec![(module + 1) % 4];
        assert_eq!(local_dependencies(0, None, targets), [1, 2, 3]);
        assert_eq!(local_dependencies(0, Some(2), targets), [1, 2]);
        assert_eq!(local_dependencies(0, Some(0), targets), [0_usize; 0]);
    }
}
