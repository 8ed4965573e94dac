//! `menace orphans`: modules that nothing imports.

use menace_analysis::orphans::{OrphanFileOptions, write_orphan_files};
use menace_model::inventory::Orphan;
use serde::Serialize;

use crate::arguments::RepositoryArguments;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TableCell, TextStyle, TextTable, count, note, print, print_json};

use menace_app::repository::{ScanPurpose, read_repository};

#[derive(Serialize)]
struct OrphanReport<'a> {
    version: u32,
    root: &'a str,
    orphans: &'a [Orphan],
}

pub(super) fn run(
    configuration: &Configuration,
    repository: &RepositoryArguments,
    json: bool,
) -> anyhow::Result<MenaceExit> {
    let scan = read_repository(configuration.app(), &repository.scan(), ScanPurpose::Inventory)?;
    let orphans = &scan.inventory.orphans;
    let settings = &configuration.settings().orphans;
    let options =
        OrphanFileOptions { include_redundant: settings.test_redundant, clean: settings.clean_orphans };
    let is_disabled = settings.disable_orphan_scan || settings.disable_orphans;
    if json {
        print_json(&OrphanReport { version: 1, root: &scan.inventory.root, orphans })?;
    } else {
        print(&orphan_table(orphans, scan.inventory.modules.len()))?;
    }
    if is_disabled {
        // Keeps the files of an earlier run.
        note("orphan discovery is disabled (SANDBOX_DISABLE_ORPHAN_SCAN or SANDBOX_DISABLE_ORPHANS)");
        return Ok(MenaceExit::Done);
    }
    for path in write_orphan_files(&configuration.data_directory(), orphans, options)? {
        note(&format!("wrote {}", path.display()));
    }
    Ok(MenaceExit::Done)
}

fn orphan_table(orphans: &[Orphan], modules: usize) -> String {
    if orphans.is_empty() {
        return format!("no orphans among {}\n", count(modules, "module"));
    }
    let mut table = TextTable::new(&[
        ("class", ColumnAlignment::Left),
        ("module", ColumnAlignment::Left),
        ("reason", ColumnAlignment::Left),
        ("parents", ColumnAlignment::Left),
    ]);
    for orphan in orphans {
        table.row([
            TableCell::styled(orphan.class.name(), TextStyle::Warning),
            orphan.path.clone().into(),
            orphan.reason.clone().into(),
            parents(orphan).into(),
        ]);
    }
    format!("{} among {}\n\n{}", count(orphans.len(), "orphan"), count(modules, "module"), table.text())
}

/// The first few parents of an orphan.
fn parents(orphan: &Orphan) -> String {
    const SHOWN: usize = 3;
    let mut text = orphan.parents.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if orphan.parents.len() > SHOWN {
        text.push_str(&format!(" and {} more", orphan.parents.len() - SHOWN));
    }
    text
}
