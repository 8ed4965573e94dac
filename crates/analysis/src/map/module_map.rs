//! Content of `module_map.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::options::GroupingAlgorithm;

/// The version of the file format that this code writes.
pub const MODULE_MAP_VERSION: u32 = 1;

/// Every module of a repository in exactly one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModuleMap {
    /// [`MODULE_MAP_VERSION`] when written by this code.
    pub version: u32,
    /// Algorithm that grouped the modules.
    pub algorithm: GroupingAlgorithm,
    /// Threshold in effect, between 0 and 1.
    pub threshold: f64,
    /// Whether similar wording counted as a relation between modules.
    pub semantic: bool,
    /// Random seed; the same repository and seed give the same map.
    pub seed: u64,
    /// Modularity of the grouping: 0 is that of a random graph, above 0.3 indicates structure.
    pub modularity: f64,
    /// The groups, largest first; a group's position is its id.
    pub groups: Vec<ModuleGroup>,
    /// The id of each module's group, by repository-relative path.
    pub modules: BTreeMap<String, usize>,
    /// Modules outside every dense region of HDBSCAN, sorted. Each is a separate group.
    #[serde(default)]
    pub noise: Vec<String>,
}

/// Modules that belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModuleGroup {
    /// The position in [`ModuleMap::groups`].
    pub id: usize,
    /// The directory that most of the modules share, or else the central module; unique in its map.
    pub name: String,
    /// Repository-relative paths, sorted.
    pub modules: Vec<String>,
    /// The module most strongly related to the others of the group.
    pub central: String,
    /// The share, from 0 to 1, of the group's imports, calls and similarities that stay within it.
    pub cohesion: f64,
}

impl ModuleMap {
    /// The group of a module, by repository-relative path.
    pub fn group_of(&self, path: &str) -> Option<&ModuleGroup> {
        self.groups.get(*self.modules.get(path)?)
    }
}
