//! `menace scan`: the inventory of a repository.

use std::path::Path;

use crate::arguments::RepositoryArguments;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::print;

use super::inventory_json::print_inventory;
use super::scan_report::report;
use menace_app::module_map::{self, default_options};
use menace_app::repository::{ScanPurpose, read_repository};

pub(super) fn run(
    configuration: &Configuration,
    repository: &RepositoryArguments,
    top: usize,
    json: bool,
) -> anyhow::Result<MenaceExit> {
    let map_path = module_map::path(configuration.app());
    let purpose = if wants_module_map(configuration, &map_path) {
        ScanPurpose::ModuleMap
    } else {
        ScanPurpose::Inventory
    };
    let scan = read_repository(configuration.app(), &repository.scan(), purpose)?;
    if purpose == ScanPurpose::ModuleMap {
        module_map::write(&map_path, &module_map::build(&scan, &default_options()))?;
    }
    if json {
        print_inventory(&scan.inventory)?;
    } else {
        print(&report(&scan.inventory, if top == 0 { usize::MAX } else { top }))?;
    }
    // The process ends next; freeing a million strings one by one would only delay that.
    std::mem::forget(scan);
    Ok(MenaceExit::Done)
}

/// Whether to write the module map: with `SANDBOX_AUTO_MAP` if there is none, with `SANDBOX_REFRESH_MODULE_MAP` always.
fn wants_module_map(configuration: &Configuration, path: &Path) -> bool {
    let settings = &configuration.settings().module_map;
    settings.refresh_module_map || (settings.auto_map && !path.exists())
}
