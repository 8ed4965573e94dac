//! Input of the grouping: modules, the edges between them and their wording, in a canonical order.

use std::collections::BTreeMap;

use super::embed::{Embedder, SparseVector};

/// The modules of a repository as the analysis found them.
#[derive(Clone, Debug, Default)]
pub struct MapInput<'a> {
    /// Repository-relative paths; a path identifies a module, so a path given twice is one module.
    pub paths: Vec<&'a str>,
    /// Imports and calls, as positions in `paths`. Edges that are out of range, are self loops, or have no positive
    /// weight are ignored.
    pub edges: Vec<ModuleEdge>,
    /// The docstrings and identifiers of each module, in the order of `paths`; missing ones count as empty.
    pub documents: Vec<String>,
}

/// A directed edge: `from` imports or calls `to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModuleEdge {
    /// The position of the importing module.
    pub from: usize,
    /// The position of the imported module.
    pub to: usize,
    /// One per import and one per call.
    pub weight: f64,
}

/// Cap that keeps sums of weights finite; no repository has this many calls between two modules.
const MAXIMUM_WEIGHT: f64 = 1e12;

/// Input sorted by path. Scans may find the same files in different orders; since ties break by index, indices must
/// depend on the paths alone for the map to stay the same.
pub(crate) struct SortedMapInput<'a> {
    pub(crate) paths: Vec<&'a str>,
    pub(crate) edges: Vec<ModuleEdge>,
    documents: Vec<&'a str>,
}

impl<'a> SortedMapInput<'a> {
    pub(crate) fn new(input: &'a MapInput<'_>) -> Self {
        let mut first_position: BTreeMap<&str, usize> = BTreeMap::new();
        for (position, path) in input.paths.iter().enumerate() {
            first_position.entry(path).or_insert(position);
        }
        let paths: Vec<&str> = first_position.keys().copied().collect();
        let document = |&position: &usize| input.documents.get(position).map_or("", String::as_str);
        let documents = first_position.values().map(document).collect();
        let index_of: BTreeMap<&str, usize> =
            paths.iter().zip(0..).map(|(path, index)| (*path, index)).collect();
        let index_at = |position: usize| Some(index_of[*input.paths.get(position)?]);
        let edge = |edge: &ModuleEdge| {
            let usable = edge.weight > 0.0;
            let (from, to) = (index_at(edge.from)?, index_at(edge.to)?);
            let weight = edge.weight.min(MAXIMUM_WEIGHT);
            (usable && from != to).then_some(ModuleEdge { from, to, weight })
        };
        let edges = input.edges.iter().filter_map(edge).collect();
        Self { paths, edges, documents }
    }

    /// One vector per module, even if the embedder returns fewer.
    pub(crate) fn embedded(&self, embedder: &dyn Embedder) -> Vec<SparseVector> {
        let mut vectors = embedder.embed(&self.documents);
        vectors.resize_with(self.paths.len(), SparseVector::default);
        vectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize, weight: f64) -> ModuleEdge {
        ModuleEdge { from, to, weight }
    }

    #[test]
    fn modules_are_sorted_and_edges_follow_them() {
        let input = MapInput {
            paths: vec!["c.py", "a.py", "b.py"],
            edges: vec![edge(0, 1, 2.0)],
            documents: vec!["see".into(), "ay".into()],
        };
        let repository = SortedMapInput::new(&input);
        assert_eq!(repository.paths, ["a.py", "b.py", "c.py"]);
        assert_eq!(repository.documents, ["ay", "", "see"]);
        assert_eq!(repository.edges, [edge(2, 0, 2.0)]);
    }

    #[test]
    fn unusable_edges_are_dropped() {
        let edges = vec![
            edge(0, 0, 1.0),
            edge(0, 9, 1.0),
            edge(0, 1, f64::NAN),
            edge(0, 1, -1.0),
            edge(0, 1, 0.0),
            edge(0, 2, 1.0),
            edge(1, 0, f64::INFINITY),
        ];
        let input = MapInput { paths: vec!["a.py", "b.py", "a.py"], edges, documents: vec![] };
        assert_eq!(SortedMapInput::new(&input).edges, [edge(1, 0, MAXIMUM_WEIGHT)]);
    }
}
