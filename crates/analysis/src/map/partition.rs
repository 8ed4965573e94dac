//! Assignment of every node to one community, and operations that derive one assignment from another.

use rustc_hash::FxHashMap;

use super::graph::WeightedGraph;

/// Assignment of nodes to communities, which are numbered without gaps in the order of their first nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommunityPartition {
    community_of: Vec<usize>,
    community_count: usize,
}

impl CommunityPartition {
    pub(crate) fn singletons(node_count: usize) -> Self {
        Self { community_of: (0..node_count).collect(), community_count: node_count }
    }

    /// Creates a partition from any labels, which are renumbered.
    pub(crate) fn from_labels(labels: &[usize]) -> Self {
        let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
        let community_of = labels
            .iter()
            .map(|label| {
                let next_number = numbers.len();
                *numbers.entry(*label).or_insert(next_number)
            })
            .collect();
        Self { community_of, community_count: numbers.len() }
    }

    pub(crate) fn community_of(&self, node: usize) -> usize {
        self.community_of[node]
    }

    pub(crate) fn labels(&self) -> &[usize] {
        &self.community_of
    }

    pub(crate) fn community_count(&self) -> usize {
        self.community_count
    }

    /// The nodes of each community, ascending.
    pub(crate) fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.community_count];
        for (node, &community) in self.community_of.iter().enumerate() {
            members[community].push(node);
        }
        members
    }

    /// This partition with its communities merged as `coarser`, a partition of the communities, says.
    pub(crate) fn merged_by(&self, coarser: &Self) -> Self {
        let labels: Vec<usize> =
            self.community_of.iter().map(|&community| coarser.community_of(community)).collect();
        Self::from_labels(&labels)
    }

    /// Reads `coarser`, a partition of the same nodes of which `self` is a refinement, as a partition of the
    /// communities of `self`.
    pub(crate) fn lifted(&self, coarser: &Self) -> Self {
        let mut labels = vec![0; self.community_count];
        for (&community, &label) in self.community_of.iter().zip(coarser.labels()) {
            labels[community] = label;
        }
        Self::from_labels(&labels)
    }

    /// Splits every community into the parts that its own edges connect. This never lowers modularity: the
    /// parts share no edge, so the split only drops expected weight.
    pub(crate) fn connected_parts(&self, graph: &WeightedGraph) -> Self {
        let node_count = self.community_of.len();
        let mut part_of = vec![usize::MAX; node_count];
        let mut pending = Vec::new();
        for start in 0..node_count {
            if part_of[start] != usize::MAX {
                continue;
            }
            part_of[start] = start;
            pending.push(start);
            while let Some(node) = pending.pop() {
                for link in graph.links(node) {
                    let same_community = self.community_of[link.node] == self.community_of[node];
                    if same_community && part_of[link.node] == usize::MAX {
                        part_of[link.node] = start;
                        pending.push(link.node);
                    }
                }
            }
        }
        Self::from_labels(&part_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::map_input::ModuleEdge;

    #[test]
    fn labels_are_renumbered_by_first_appearance() {
        let partition = CommunityPartition::from_labels(&[9, 4, 9, 0]);
        assert_eq!(partition.labels(), [0, 1, 0, 2]);
        assert_eq!(partition.members(), [vec![0, 2], vec![1], vec![3]]);
    }

    #[test]
    fn merging_undoes_lifting() {
        let fine = CommunityPartition::from_labels(&[0, 0, 1, 2, 2]);
        let coarse = CommunityPartition::from_labels(&[0, 0, 0, 1, 1]);
        assert_eq!(fine.merged_by(&fine.lifted(&coarse)), coarse);
    }

    #[test]
    fn community_without_inner_edges_is_split() {
        let graph = WeightedGraph::from_edges(
            4,
            [ModuleEdge { from: 0, to: 1, weight: 1.0 }, ModuleEdge { from: 1, to: 2, weight: 1.0 }],
        );
        let parts = CommunityPartition::from_labels(&[0, 1, 0, 1]).connected_parts(&graph);
        assert_eq!(parts, CommunityPartition::singletons(4));
    }
}
