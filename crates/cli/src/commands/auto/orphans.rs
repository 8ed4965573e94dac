//! Modules that nothing needs, looked for before each cycle: which of them it calls, and which nobody proposes changes for.

use std::collections::BTreeSet;

use menace_analysis::orphans::{OrphanFileOptions, write_orphan_files};
use menace_model::inventory::{Inventory, Orphan, OrphanClass};
use menace_runner::callable_sections;

use super::state::AutoRunState;
use crate::commands::orphans::class_word;
use crate::commands::run::resolve_module_paths;
use crate::commands::self_test::left_out;
use crate::configuration::Configuration;
use crate::terminal::note;

/// What a cycle is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CycleModuleSelection {
    /// Only these modules are called, by path; none means all.
    pub(super) modules: Vec<String>,
    /// Nobody proposes changes for these.
    pub(super) left_alone: Vec<String>,
}

/// Looks for orphans, writes them down as `menace orphans` does, and says what becomes of them.
pub(super) fn select_cycle_modules(
    configuration: &Configuration,
    progress: &AutoRunState,
    inventory: &Inventory,
) -> anyhow::Result<CycleModuleSelection> {
    let settings = configuration.settings();
    if settings.orphans.disable_orphan_scan {
        note("orphans: nobody looks for them (SANDBOX_DISABLE_ORPHAN_SCAN)");
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
        write_orphan_files(&configuration.data_directory(), &inventory.orphans, files)?;
    }
    if !progress.modules.is_empty() {
        // Whoever names modules means them, orphans or not.
        return Ok(CycleModuleSelection {
            modules: resolve_module_paths(inventory, &progress.modules)?,
            ..CycleModuleSelection::default()
        });
    }
    let left_out = left_out(inventory, &settings.self_test, &settings.orphans);
    let (found, line) = of(inventory, &left_out);
    note(&line);
    Ok(found)
}

fn of(inventory: &Inventory, left_out: &BTreeSet<String>) -> (CycleModuleSelection, String) {
    let is_in = |path: &String| !left_out.contains(path);
    let mut modules = BTreeSet::new();
    if !left_out.is_empty() {
        modules =
            callable_sections(inventory, &[]).into_iter().map(|target| target.path).filter(is_in).collect();
    }
    let (within, without): (Vec<&Orphan>, Vec<&Orphan>) =
        inventory.orphans.iter().partition(|orphan| is_in(&orphan.path));
    let is_over = |orphan: &&&Orphan| matches!(orphan.class, OrphanClass::Redundant | OrphanClass::Legacy);
    let alone: Vec<&Orphan> = within.iter().filter(is_over).copied().collect();
    let left_alone = inventory.orphans.iter().filter(|orphan| is_over(&orphan)).map(|one| one.path.clone());
    let found =
        CycleModuleSelection { modules: modules.into_iter().collect(), left_alone: left_alone.collect() };
    (found, line(&within, &without, &alone))
}

fn line(within: &[&Orphan], without: &[&Orphan], alone: &[&Orphan]) -> String {
    let parts: Vec<String> =
        [("included", within), ("left out", without), ("called, but not changed", alone)]
            .into_iter()
            .filter(|(_, orphans)| !orphans.is_empty())
            .map(|(word, orphans)| format!("{} {word} ({})", orphans.len(), names(orphans)))
            .collect();
    if parts.is_empty() { "orphans: none".to_owned() } else { format!("orphans: {}", parts.join(", ")) }
}

/// The first few.
fn names(orphans: &[&Orphan]) -> String {
    const SHOWN: usize = 3;
    let mut all: Vec<String> = orphans
        .iter()
        .take(SHOWN)
        .map(|orphan| format!("{} {}", class_word(orphan.class), orphan.path))
        .collect();
    if orphans.len() > SHOWN {
        all.push(format!("{} more", orphans.len() - SHOWN));
    }
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use menace_analysis::orphans::OrphanOptions;
    use menace_analysis::scan::{ScanOptions, SilentScanObserver, scan};

    use super::*;

    /// A module that is needed, one that is not, and one whose name says that it is left over.
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
    fn everything_is_called_unless_a_switch_says_otherwise_and_leftovers_are_not_changed() {
        let (_directory, inventory) = inventory();
        let (all, line) = of(&inventory, &BTreeSet::new());
        assert_eq!(
            (all.modules.len(), all.left_alone.as_slice()),
            (0, ["pricing_old.py".to_owned()].as_slice())
        );
        assert!(line.contains("2 included (isolated alone.py, legacy pricing_old.py)"), "{line}");
        assert!(line.contains("1 called, but not changed (legacy pricing_old.py)"), "{line}");
        let (some, line) = of(&inventory, &BTreeSet::from(["alone.py".to_owned()]));
        assert!(!some.modules.contains(&"alone.py".to_owned()), "{some:?}");
        assert!(some.modules.contains(&"pricing.py".to_owned()), "{some:?}");
        assert!(line.contains("1 left out (isolated alone.py)"), "{line}");
    }
}
