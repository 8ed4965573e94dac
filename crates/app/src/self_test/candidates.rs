//! Modules of a self-test and the files that test them.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::inventory::{Inventory, Orphan, OrphanClass, PythonModule};
use menace_model::settings::{OrphanSettings, SelfTestSettings};

/// Modules of a round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SelfTestCandidates {
    /// Paths of modules, each with the test files that import it.
    pub(super) modules: BTreeMap<String, Vec<String>>,
}

impl SelfTestCandidates {
    /// All modules that the settings allow, or the named ones with their dependencies.
    pub(super) fn of(
        inventory: &Inventory,
        named: &[String],
        settings: &SelfTestSettings,
        orphans: &OrphanSettings,
    ) -> Self {
        let wanted: BTreeSet<String> = if named.is_empty() {
            let left_out = left_out(inventory, settings, orphans);
            let modules = inventory.modules.iter().filter(|module| !is_test(module));
            modules.map(|module| module.path.clone()).filter(|path| !left_out.contains(path)).collect()
        } else {
            with_dependencies(inventory, named, settings)
        };
        let is_collected = |module: &&PythonModule| is_test(module) && !module.path.ends_with("conftest.py");
        let tests: Vec<&PythonModule> = inventory.modules.iter().filter(is_collected).collect();
        let testing = |module: &PythonModule| {
            let is_tested_by = |test: &&&PythonModule| test.imports.contains(&module.name);
            tests.iter().filter(is_tested_by).map(|test| test.path.clone()).collect()
        };
        let modules = inventory
            .modules
            .iter()
            .filter(|module| wanted.contains(&module.path))
            .map(|module| (module.path.clone(), testing(module)))
            .collect();
        Self { modules }
    }

    /// All test files of these modules.
    pub(super) fn test_files(&self) -> BTreeSet<&String> {
        self.modules.values().flatten().collect()
    }
}

/// Whether a module is a pytest file.
fn is_test(module: &PythonModule) -> bool {
    let file = module.path.rsplit('/').next().unwrap_or(&module.path);
    file.starts_with("test_") || file.ends_with("_test.py") || file == "conftest.py"
}

/// Orphans that a setting excludes.
pub(crate) fn left_out(
    inventory: &Inventory,
    settings: &SelfTestSettings,
    orphans: &OrphanSettings,
) -> BTreeSet<String> {
    let no_orphans = settings.self_test_disable_orphans
        || !settings.self_test_discover_orphans
        || !settings.self_test_include_orphans
        || orphans.disable_orphan_scan;
    let no_isolated = !settings.self_test_discover_isolated || !settings.self_test_auto_include_isolated;
    let is_out = |orphan: &&Orphan| match orphan.class {
        OrphanClass::Isolated => no_orphans || no_isolated,
        OrphanClass::Orphan => no_orphans,
        OrphanClass::Redundant | OrphanClass::Legacy => no_orphans || !settings.self_test_include_redundant,
    };
    inventory.orphans.iter().filter(is_out).map(|orphan| orphan.path.clone()).collect()
}

/// The named modules and their dependencies. One setting enables this for isolated modules, another for the others.
fn with_dependencies(
    inventory: &Inventory,
    named: &[String],
    settings: &SelfTestSettings,
) -> BTreeSet<String> {
    let mut wanted: BTreeSet<String> = named.iter().cloned().collect();
    let is_followed = |path: &&String| {
        let orphan = inventory.orphans.iter().find(|orphan| orphan.path == **path);
        match orphan.map(|orphan| orphan.class) {
            Some(OrphanClass::Isolated) => settings.self_test_recursive_isolated,
            _ => settings.self_test_recursive_orphans,
        }
    };
    let mut waiting: Vec<String> = named.iter().filter(is_followed).cloned().collect();
    while let Some(path) = waiting.pop() {
        let Some(module) = inventory.modules.iter().find(|module| module.path == path) else { continue };
        for name in &module.imports {
            let needed = inventory.modules.iter().find(|module| module.name == *name);
            if let Some(needed) = needed.filter(|needed| wanted.insert(needed.path.clone())) {
                waiting.push(needed.path.clone());
            }
        }
    }
    wanted
}
