//! Selection of the modules of a cycle: orphans that are called, and orphans that are not changed.

use std::collections::BTreeSet;

use menace_analysis::orphans::{OrphanFileOptions, write_orphan_files};
use menace_model::inventory::{Inventory, Orphan, OrphanClass};
use menace_runner::callable_sections;

use super::run_state::AutoRunState;
use crate::measure::resolve_module_paths;
use crate::self_test::left_out;
use crate::{AppContext, AppError, AppEvent, OrphanSelection};

/// Modules of a cycle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CycleModuleSelection {
    /// Paths of the modules to call; empty for all.
    pub(super) modules: Vec<String>,
    /// Paths of modules without proposals.
    pub(super) left_alone: Vec<String>,
}

/// Classifies orphans, writes their files as `menace lab orphans` does, and selects the modules of a cycle.
pub(super) fn select_cycle_modules(
    context: &AppContext,
    progress: &AutoRunState,
    inventory: &Inventory,
) -> Result<CycleModuleSelection, AppError> {
    let settings = context.settings();
    if settings.orphans.disable_orphan_scan {
        context.emit(AppEvent::OrphanScanDisabled);
        return Ok(CycleModuleSelection {
            modules: resolve_module_paths(inventory, &progress.modules)?,
            ..CycleModuleSelection::default()
        });
    }
    let files = OrphanFileOptions {
        include_redundant: settings.orphans.test_redundant,
        clean: settings.orphans.clean_orphans,
    };
    if !settings.orphans.disable_orphans {
        write_orphan_files(&context.data_directory(), &inventory.orphans, files)?;
    }
    if !progress.modules.is_empty() {
        // Named modules are called even if they are orphans.
        return Ok(CycleModuleSelection {
            modules: resolve_module_paths(inventory, &progress.modules)?,
            ..CycleModuleSelection::default()
        });
    }
    let left_out = left_out(inventory, &settings.self_test, &settings.orphans);
    let (selection, orphans) = of(inventory, &left_out);
    context.emit(AppEvent::OrphansClassified(orphans));
    Ok(selection)
}

fn of(inventory: &Inventory, left_out: &BTreeSet<String>) -> (CycleModuleSelection, OrphanSelection) {
    let is_in = |path: &String| !left_out.contains(path);
    let mut modules = BTreeSet::new();
    if !left_out.is_empty() {
        modules =
            callable_sections(inventory, &[]).into_iter().map(|target| target.path).filter(is_in).collect();
    }
    let is_obsolete = |orphan: &&Orphan| matches!(orphan.class, OrphanClass::Redundant | OrphanClass::Legacy);
    let named = |orphan: &Orphan| (orphan.class, orphan.path.clone());
    let (included, excluded): (Vec<&Orphan>, Vec<&Orphan>) =
        inventory.orphans.iter().partition(|orphan| is_in(&orphan.path));
    let left_alone = inventory.orphans.iter().filter(is_obsolete).map(|orphan| orphan.path.clone());
    let selection =
        CycleModuleSelection { modules: modules.into_iter().collect(), left_alone: left_alone.collect() };
    let unchanged = included.iter().copied().filter(is_obsolete).map(named).collect();
    let orphans = OrphanSelection {
        included: included.into_iter().map(named).collect(),
        excluded: excluded.into_iter().map(named).collect(),
        unchanged,
    };
    (selection, orphans)
}

#[cfg(test)]
mod tests {
    use menace_analysis::orphans::OrphanOptions;
    use menace_analysis::scan::{ScanOptions, SilentScanObserver, scan};

    use super::*;

    /// An imported module, an isolated one, and one whose name marks it as legacy.
    fn inventory() -> (tempfile::TempDir, Inventory) {
        let body = "def total(prices, rate):\n    result = 0\n    for price in prices:\n        result += price * rate\n    if result < 0:\n        raise ValueError(result)\n    return round(result, 2)\n";
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("main.py", "import pricing\nif __name__ == '__main__':\n    print(pricing.total([1], 2))\n"),
            ("pricing.py", body),
            ("pricing_old.py", body),
            ("alone.py", "def double(x):\n    return 2 * x\n"),
        ] {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        let options =
            ScanOptions { exclude: Vec::new(), cache: None, orphans: OrphanOptions::default(), weigh: false };
        let found = scan(directory.path(), &options, &SilentScanObserver, || Err("none".to_owned())).unwrap();
        (directory, found.inventory)
    }

    #[test]
    fn orphans_are_called_unless_excluded_and_legacy_ones_are_not_changed() {
        let (_directory, inventory) = inventory();
        let (all, orphans) = of(&inventory, &BTreeSet::new());
        assert_eq!(
            (all.modules.len(), all.left_alone.as_slice()),
            (0, ["pricing_old.py".to_owned()].as_slice())
        );
        let isolated = (OrphanClass::Isolated, "alone.py".to_owned());
        let legacy = (OrphanClass::Legacy, "pricing_old.py".to_owned());
        assert_eq!(orphans.included, [isolated.clone(), legacy.clone()]);
        assert_eq!(orphans.unchanged, [legacy]);
        let (some, orphans) = of(&inventory, &BTreeSet::from(["alone.py".to_owned()]));
        assert!(!some.modules.contains(&"alone.py".to_owned()), "{some:?}");
        assert!(some.modules.contains(&"pricing.py".to_owned()), "{some:?}");
        assert_eq!(orphans.excluded, [isolated]);
    }
}
