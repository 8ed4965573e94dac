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
mod greedy;
mod group;
mod hdbscan;
mod label;
mod louvain;
mod modularity;
mod module_map;
mod names;
mod options;
mod partition;
mod random;
mod relations;
mod repository;
mod themes;

pub use embed::{Embedder, SparseVector, TfIdf};
pub use group::{group, group_with};
pub use module_map::{Group, MODULE_MAP_VERSION, ModuleMap};
pub use options::{Algorithm, MapOptions, UnknownAlgorithm};
pub use repository::{Edge, MapInput};
