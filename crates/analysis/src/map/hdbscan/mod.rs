//! HDBSCAN: groups are regions that stay dense over a wide range of densities; the rest is noise.
//!
//! Campello, Moulavi and Sander, "Density-based clustering based on hierarchical density estimates" (2013), in
//! the order of the paper: mutual reachability, single linkage, condensed tree, selection by stability.
//!
//! The paper works on the distances between all points. This implementation takes only the pairs that the threshold
//! relates: the others could only join what the threshold separates, and they are most of the n²/2.
//!
//! Mutual reachability has many ties. As the paper requires, all joins at one distance are undone in one step, so
//! that the clusters do not depend on the order of the points. (Other implementations break ties in the order
//! of a spanning tree: scikit-learn's answer can change when its input is shuffled.)

mod clusters;
mod condensed_tree;
mod dendrogram;
mod reachability;

pub(super) use clusters::{DensityOptions, hdbscan};
pub(super) use reachability::NearPair;
