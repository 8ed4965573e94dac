//! The pipeline from a repository to its module map.

use std::cmp::Reverse;

use super::embed::{Embedder, TfIdfEmbedder, similar_pairs};
use super::graph::WeightedGraph;
use super::greedy_modularity::greedy_modularity;
use super::group_names::GroupNamer;
use super::label_propagation::label_propagation;
use super::louvain::louvain;
use super::map_input::{MapInput, SortedMapInput};
use super::modularity::modularity;
use super::module_map::{MODULE_MAP_VERSION, ModuleGroup, ModuleMap};
use super::options::{GroupingAlgorithm, MapOptions};
use super::partition::CommunityPartition;
use super::related_modules::related_modules;
use super::split_mix::SplitMix64;
use super::themes::themes;

/// Groups the modules of a repository, with TF-IDF for the wording.
///
/// The same modules, edges, documents and options give the same map, in any order of the lists.
pub fn group(input: &MapInput<'_>, options: &MapOptions) -> ModuleMap {
    group_with(input, options, &TfIdfEmbedder)
}

/// Groups the modules of a repository with another embedder for the wording.
pub fn group_with(input: &MapInput<'_>, options: &MapOptions, embedder: &dyn Embedder) -> ModuleMap {
    let repository = SortedMapInput::new(input);
    let module_count = repository.paths.len();
    let threshold = options.threshold_in_range();
    let similar = if options.reads_wording() {
        similar_pairs(&repository.embedded(embedder), threshold)
    } else {
        Vec::new()
    };
    let relating_wording = if options.semantic { similar.as_slice() } else { &[] };
    let graph = related_modules(module_count, &repository.edges, relating_wording, threshold);
    let mut random = SplitMix64::new(options.seed);
    let (partition, noise) = match options.algorithm {
        GroupingAlgorithm::Louvain => (louvain(&graph, &mut random), Vec::new()),
        GroupingAlgorithm::Greedy => (greedy_modularity(&graph), Vec::new()),
        GroupingAlgorithm::Label => (label_propagation(&graph, &mut random), Vec::new()),
        GroupingAlgorithm::Hdbscan => {
            let themes = themes(module_count, &similar, threshold);
            (themes.partition, themes.noise)
        }
    };
    let groups = described_groups(&repository.paths, &graph, &partition);
    let assignments =
        groups.iter().flat_map(|group| group.modules.iter().map(|path| (path.clone(), group.id)));
    ModuleMap {
        version: MODULE_MAP_VERSION,
        algorithm: options.algorithm,
        threshold,
        semantic: options.semantic,
        seed: options.seed,
        modularity: modularity(&graph, &partition),
        modules: assignments.collect(),
        noise: noise.into_iter().map(|module| repository.paths[module].to_owned()).collect(),
        groups,
    }
}

/// Groups with name, centre and cohesion: largest first; among equals, the one with the first path.
fn described_groups(
    paths: &[&str],
    graph: &WeightedGraph,
    partition: &CommunityPartition,
) -> Vec<ModuleGroup> {
    let mut communities = partition.members();
    communities.sort_by_key(|members| (Reverse(members.len()), members[0]));
    let mut names = GroupNamer::new(paths);
    let described = |(id, members): (usize, Vec<usize>)| {
        let modules: Vec<&str> = members.iter().map(|&node| paths[node]).collect();
        let central = paths[central_node(graph, partition, &members)];
        ModuleGroup {
            id,
            name: names.name(&modules, central),
            central: central.to_owned(),
            cohesion: cohesion(graph, partition, &members),
            modules: modules.into_iter().map(str::to_owned).collect(),
        }
    };
    communities.into_iter().enumerate().map(described).collect()
}

/// Node with the most weight to its own group; then with the most total weight; then the first.
fn central_node(graph: &WeightedGraph, partition: &CommunityPartition, members: &[usize]) -> usize {
    let rank = |node: usize| (weight_inside(graph, partition, node), graph.strength(node));
    let mut central = members[0];
    for &node in &members[1..] {
        if rank(node) > rank(central) {
            central = node;
        }
    }
    central
}

fn cohesion(graph: &WeightedGraph, partition: &CommunityPartition, members: &[usize]) -> f64 {
    let inside: f64 = members.iter().map(|&node| weight_inside(graph, partition, node)).sum::<f64>() / 2.0;
    let touching: f64 = members.iter().map(|&node| graph.strength(node)).sum::<f64>() - inside;
    if touching > 0.0 { inside / touching } else { 0.0 }
}

fn weight_inside(graph: &WeightedGraph, partition: &CommunityPartition, node: usize) -> f64 {
    let community = partition.community_of(node);
    let links = graph.links(node).iter().filter(|link| partition.community_of(link.node) == community);
    // Not `sum`, whose zero is negative and would be written to the file as -0.0.
    links.fold(0.0, |sum, link| sum + link.weight)
}

#[cfg(test)]
#[path = "group_tests.rs"]
mod tests;
