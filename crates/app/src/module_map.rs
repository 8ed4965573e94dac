//! The module map: groups of modules that belong together, and its file.

use std::path::{Path, PathBuf};

use menace_analysis::map::{GroupingAlgorithm, MapInput, MapOptions, ModuleMap, group};
use menace_analysis::scan::RepositoryScan;
use menace_analysis::write_atomically;
use menace_model::inventory::PythonModule;

use crate::error::FileContext;
use crate::{AppContext, AppError};

/// Options of `SANDBOX_AUTO_MAP` and of the workflows that are built from groups.
pub fn default_options() -> MapOptions {
    MapOptions { algorithm: GroupingAlgorithm::Louvain, ..MapOptions::default() }
}

/// Path of `module_map.json`.
pub fn path(context: &AppContext) -> PathBuf {
    context.data_directory().join("module_map.json")
}

/// Groups the modules of a scan.
pub fn build(scan: &RepositoryScan, options: &MapOptions) -> ModuleMap {
    let modules = &scan.inventory.modules;
    let input = MapInput {
        paths: modules.iter().map(|module| module.path.as_str()).collect(),
        edges: scan.weights.clone(),
        documents: modules.iter().map(document).collect(),
    };
    group(&input, options)
}

/// Text of a module for semantic grouping: its docstrings and the names that it defines.
fn document(module: &PythonModule) -> String {
    let mut text = module.name.replace('.', " ");
    for section in &module.sections {
        text.push(' ');
        text.push_str(&section.name);
        if let Some(summary) = &section.summary {
            text.push(' ');
            text.push_str(summary);
        }
    }
    text
}

/// Writes the map.
pub fn write(path: &Path, map: &ModuleMap) -> Result<(), AppError> {
    let mut text = serde_json::to_vec_pretty(map)?;
    text.push(b'\n');
    write_atomically(path, &text).file("write", path)
}
