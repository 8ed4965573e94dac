//! Module map: groups of modules of a repository that belong together.
//!
//! ```text
//! MapInput ── repository ──┬─────────── relations ── graph ──┬── louvain ──┐
//!   paths                  │               ▲                 ├── greedy ───┤
//!   edges                  │               │ similar pairs   └── label ────┼── names ── ModuleMap
//!   documents              └── embed ──────┴──── themes ──── hdbscan ──────┘
//! ```
//!
//! Imports and calls (and, on request, similar wording) make a weighted graph; a community algorithm cuts it
//! into groups. HDBSCAN skips the graph and groups modules by their wording alone. The result is
//! `module_map.json`, keyed by repository-relative path, by which ROI and synergy metrics are aggregated.

mod embed;
#[cfg(test)]
mod fixtures;
mod graph;
mod greedy_modularity;
mod group;
mod group_names;
mod hdbscan;
mod label_propagation;
mod louvain;
mod map_input;
mod modularity;
mod module_map;
mod options;
mod partition;
mod related_modules;
mod split_mix;
mod themes;

pub use embed::{Embedder, SparseVector, TfIdfEmbedder};
pub use group::{group, group_with};
pub use map_input::{MapInput, ModuleEdge};
pub use module_map::{MODULE_MAP_VERSION, ModuleGroup, ModuleMap};
pub use options::{GroupingAlgorithm, MapOptions, UnknownGroupingAlgorithm};
