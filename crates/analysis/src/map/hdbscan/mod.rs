//! HDBSCAN: groups are regions that stay dense over a wide range of densities; the rest is noise.
//!
//! Campello, Moulavi and Sander, "Density-based clustering based on hierarchical density estimates" (2013), in
//! the order of the paper: mutual reachability, spanning tree, single linkage, condensed tree, selection by stability.
//!
//! The paper works on the distances between all points. We take only the pairs that the threshold relates: the
//! rest could do no more than join what the threshold keeps apart, and are most of the n²/2.

mod clusters;
mod condensed_tree;
mod dendrogram;
mod reachability;
mod spanning_forest;

pub(super) use clusters::{DensityOptions, hdbscan};
pub(super) use reachability::NearPair;
