//! The undirected weighted graph that every community algorithm reads.
//!
//! Stored as compressed rows: the algorithms only need the neighbours of a node, in index order, and that order
//! makes ties break the same way on every run.

use super::map_input::ModuleEdge;
use super::partition::CommunityPartition;

/// An undirected graph; parallel edges are summed, self loops are kept beside the rows.
#[derive(Clone, Debug)]
pub(crate) struct WeightedGraph {
    row_starts: Vec<usize>,
    links: Vec<GraphNeighbour>,
    loops: Vec<f64>,
    strengths: Vec<f64>,
    total_weight: f64,
}

/// One neighbour of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GraphNeighbour {
    pub(crate) node: usize,
    pub(crate) weight: f64,
}

impl WeightedGraph {
    /// Builds the graph from edges in any order and direction. Ends must be below `node_count`.
    pub(crate) fn from_edges(node_count: usize, edges: impl IntoIterator<Item = ModuleEdge>) -> Self {
        let edges = summed(edges);
        let mut loops = vec![0.0; node_count];
        let mut row_starts = vec![0; node_count + 1];
        for edge in &edges {
            if edge.from == edge.to {
                loops[edge.from] += edge.weight;
            } else {
                row_starts[edge.from + 1] += 1;
                row_starts[edge.to + 1] += 1;
            }
        }
        for row in 0..node_count {
            row_starts[row + 1] += row_starts[row];
        }
        let links = filled_rows(&row_starts, &edges);
        let strengths: Vec<f64> = (0..node_count)
            .map(|node| {
                let row = &links[row_starts[node]..row_starts[node + 1]];
                row.iter().map(|link| link.weight).sum::<f64>() + 2.0 * loops[node]
            })
            .collect();
        let total_weight = edges.iter().map(|edge| edge.weight).sum();
        Self { row_starts, links, loops, strengths, total_weight }
    }

    pub(crate) fn node_count(&self) -> usize {
        self.loops.len()
    }

    /// The neighbours of a node by ascending index, without the node itself.
    pub(crate) fn links(&self, node: usize) -> &[GraphNeighbour] {
        &self.links[self.row_starts[node]..self.row_starts[node + 1]]
    }

    /// The weighted degree; a self loop counts twice, so that strengths sum to twice the total weight.
    pub(crate) fn strength(&self, node: usize) -> f64 {
        self.strengths[node]
    }

    pub(crate) fn strengths(&self) -> &[f64] {
        &self.strengths
    }

    /// The sum of all edge weights, each undirected edge once.
    pub(crate) fn total_weight(&self) -> f64 {
        self.total_weight
    }

    /// Every edge once, self loops included.
    pub(crate) fn edges(&self) -> impl Iterator<Item = ModuleEdge> {
        (0..self.node_count()).flat_map(move |from| {
            let loop_edge = ModuleEdge { from, to: from, weight: self.loops[from] };
            let links = self.links(from).iter().filter(move |link| link.node > from);
            let link_edges = links.map(move |link| ModuleEdge { from, to: link.node, weight: link.weight });
            std::iter::once(loop_edge).filter(|edge| edge.weight > 0.0).chain(link_edges)
        })
    }

    /// The graph whose nodes are the communities of this one; weight inside a community becomes its self loop.
    pub(crate) fn aggregated(&self, partition: &CommunityPartition) -> Self {
        let edges = self.edges().map(|edge| ModuleEdge {
            from: partition.community_of(edge.from),
            to: partition.community_of(edge.to),
            weight: edge.weight,
        });
        Self::from_edges(partition.community_count(), edges)
    }
}

/// One edge per pair, lower index first, sorted. Weights are sorted too: floating point addition depends on
/// its order, and the order in which a scan found the edges must not affect the result.
fn summed(edges: impl IntoIterator<Item = ModuleEdge>) -> Vec<ModuleEdge> {
    let mut edges: Vec<ModuleEdge> = edges
        .into_iter()
        .map(|edge| ModuleEdge {
            from: edge.from.min(edge.to),
            to: edge.from.max(edge.to),
            weight: edge.weight,
        })
        .collect();
    edges.sort_unstable_by(|left, right| {
        (left.from, left.to).cmp(&(right.from, right.to)).then(left.weight.total_cmp(&right.weight))
    });
    edges.dedup_by(|next, kept| {
        let same_pair = (next.from, next.to) == (kept.from, kept.to);
        if same_pair {
            kept.weight += next.weight;
        }
        same_pair
    });
    edges
}

/// Builds the rows. Sorted edges fill each row in ascending order: the lower neighbours of a node come before the higher
/// ones.
fn filled_rows(row_starts: &[usize], edges: &[ModuleEdge]) -> Vec<GraphNeighbour> {
    let mut next_slot = row_starts.to_vec();
    let mut links = vec![GraphNeighbour { node: 0, weight: 0.0 }; row_starts.last().copied().unwrap_or(0)];
    let mut place = |row: usize, node: usize, weight: f64| {
        links[next_slot[row]] = GraphNeighbour { node, weight };
        next_slot[row] += 1;
    };
    for edge in edges.iter().filter(|edge| edge.from != edge.to) {
        place(edge.from, edge.to, edge.weight);
        place(edge.to, edge.from, edge.weight);
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize, weight: f64) -> ModuleEdge {
        ModuleEdge { from, to, weight }
    }

    #[test]
    fn directions_and_parallel_edges_are_summed() {
        let graph = WeightedGraph::from_edges(3, [edge(2, 0, 1.0), edge(0, 2, 2.5), edge(1, 0, 1.0)]);
        let neighbours: Vec<_> = graph.links(0).iter().map(|link| (link.node, link.weight)).collect();
        assert_eq!(neighbours, [(1, 1.0), (2, 3.5)]);
        assert_eq!(graph.strengths(), [4.5, 1.0, 3.5]);
    }

    #[test]
    fn strengths_sum_to_twice_the_total_also_with_loops() {
        let graph = WeightedGraph::from_edges(2, [edge(0, 0, 3.0), edge(0, 1, 1.0)]);
        assert_eq!(graph.strengths(), [7.0, 1.0]);
        assert_eq!(graph.strengths().iter().sum::<f64>().to_bits(), (2.0 * graph.total_weight()).to_bits());
    }

    #[test]
    fn aggregation_keeps_the_total_weight() {
        let graph = WeightedGraph::from_edges(4, [edge(0, 1, 1.0), edge(1, 2, 2.0), edge(2, 3, 4.0)]);
        let coarse = graph.aggregated(&CommunityPartition::from_labels(&[7, 7, 9, 9]));
        assert_eq!(coarse.node_count(), 2);
        assert_eq!(coarse.edges().collect::<Vec<_>>(), [edge(0, 0, 1.0), edge(0, 1, 2.0), edge(1, 1, 4.0)]);
    }
}
