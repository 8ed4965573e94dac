//! `menace map`: modules that belong together.

use std::path::{Path, PathBuf};

use anyhow::Context;
use menace_analysis::map::{GroupingAlgorithm, MapInput, MapOptions, ModuleMap, group};
use menace_analysis::scan::RepositoryScan;
use menace_analysis::write_atomically;
use menace_model::inventory::PythonModule;

use crate::arguments::{ModuleGroupingArguments, RepositoryArguments};
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, count, note, print, print_json};

use super::reading::{ScanPurpose, read_repository};
use super::usage::UsageError;

pub(super) fn run(
    configuration: &Configuration,
    repository: &RepositoryArguments,
    grouping: &ModuleGroupingArguments,
    json: bool,
) -> anyhow::Result<MenaceExit> {
    if !(0.0..=1.0).contains(&grouping.threshold) {
        return Err(UsageError::Threshold(grouping.threshold).into());
    }
    let scan = read_repository(configuration, repository, ScanPurpose::ModuleMap)?;
    let map = build(&scan, &options(grouping));
    let path = map_path(configuration);
    write(&path, &map)?;
    if json {
        print_json(&map)?;
    } else {
        print(&map_table(&map))?;
    }
    note(&format!("wrote {}", path.display()));
    Ok(MenaceExit::Done)
}

fn options(grouping: &ModuleGroupingArguments) -> MapOptions {
    MapOptions {
        algorithm: grouping.algorithm,
        threshold: grouping.threshold,
        semantic: grouping.semantic,
        seed: grouping.seed,
    }
}

/// What `SANDBOX_AUTO_MAP` builds with.
pub(super) fn default_options() -> MapOptions {
    MapOptions { algorithm: GroupingAlgorithm::Louvain, ..MapOptions::default() }
}

pub(super) fn map_path(configuration: &Configuration) -> PathBuf {
    configuration.data_directory().join("module_map.json")
}

pub(super) fn build(scan: &RepositoryScan, options: &MapOptions) -> ModuleMap {
    let modules = &scan.inventory.modules;
    let input = MapInput {
        paths: modules.iter().map(|module| module.path.as_str()).collect(),
        edges: scan.weights.clone(),
        documents: modules.iter().map(document).collect(),
    };
    group(&input, options)
}

/// What a module says about itself: its docstrings and the names it defines.
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

pub(super) fn write(path: &Path, map: &ModuleMap) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(map).context("a module map is plain data")?;
    text.push(b'\n');
    write_atomically(path, &text).with_context(|| {
        format!("failed to write {}\nhint: choose another directory with --data-dir", path.display())
    })
}

fn map_table(map: &ModuleMap) -> String {
    let mut table = TextTable::new(&[
        ("group", ColumnAlignment::Left),
        ("modules", ColumnAlignment::Right),
        ("cohesion", ColumnAlignment::Right),
        ("central module", ColumnAlignment::Left),
    ]);
    for group in &map.groups {
        table.row([
            group.name.clone().into(),
            group.modules.len().to_string().into(),
            format!("{:.2}", group.cohesion).into(),
            group.central.clone().into(),
        ]);
    }
    format!(
        "{} in {} by {}, modularity {:.2}\n\n{}",
        count(map.modules.len(), "module"),
        count(map.groups.len(), "group"),
        map.algorithm,
        map.modularity,
        table.text()
    )
}
