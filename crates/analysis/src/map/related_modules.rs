//! Construction of the graph of related modules from imports, calls and wording, filtered by the threshold.

use super::embed::SimilarPair;
use super::graph::WeightedGraph;
use super::map_input::ModuleEdge;

/// The graph of modules related by strong enough imports and calls, or by wording; the weights add up.
pub(crate) fn related_modules(
    module_count: usize,
    edges: &[ModuleEdge],
    similar: &[SimilarPair],
    threshold: f64,
) -> WeightedGraph {
    let imports_and_calls = WeightedGraph::from_edges(module_count, edges.iter().copied());
    let strong = strong_edges(&imports_and_calls, threshold);
    let wording =
        similar.iter().map(|pair| ModuleEdge { from: pair.left, to: pair.right, weight: pair.cosine });
    WeightedGraph::from_edges(module_count, strong.into_iter().chain(wording))
}

/// The edges that matter to at least one of their modules: see `MapOptions::threshold`.
fn strong_edges(graph: &WeightedGraph, threshold: f64) -> Vec<ModuleEdge> {
    let strongest: Vec<f64> = (0..graph.node_count())
        .map(|node| graph.links(node).iter().map(|link| link.weight).fold(0.0, f64::max))
        .collect();
    let matters = |edge: &ModuleEdge| edge.weight >= threshold * strongest[edge.from].min(strongest[edge.to]);
    graph.edges().filter(matters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize, weight: f64) -> ModuleEdge {
        ModuleEdge { from, to, weight }
    }

    #[test]
    fn stray_import_between_busy_modules_is_ignored() {
        let edges = [edge(0, 1, 20.0), edge(2, 3, 30.0), edge(1, 2, 1.0)];
        let kept = |threshold| related_modules(4, &edges, &[], threshold).edges().count();
        assert_eq!(kept(0.1), 2);
        assert_eq!(kept(0.05), 3);
        assert_eq!(kept(0.0), 3);
    }

    #[test]
    fn no_threshold_isolates_a_module() {
        // The edge is weak for module 1, but it is the strongest edge of module 2.
        let edges = [edge(0, 1, 20.0), edge(1, 2, 1.0)];
        assert_eq!(related_modules(3, &edges, &[], 1.0).edges().count(), 2);
    }

    #[test]
    fn wording_adds_its_cosine() {
        let similar = [SimilarPair { left: 0, right: 1, cosine: 0.75 }];
        let graph = related_modules(2, &[edge(0, 1, 3.0)], &similar, 0.5);
        assert!((graph.total_weight() - 3.75).abs() < 1e-12);
    }
}
