//! `menace scan`: the inventory of a repository.

use std::path::Path;

use menace_analysis::scan::Scan;

use crate::arguments::Repository;
use crate::configuration::Configuration;
use crate::exit::Exit;
use crate::terminal::print;

use super::inventory_json::print_inventory;
use super::map::{self, default_options};
use super::reading::read_repository;
use super::scan_report::report;

pub(super) fn run(
    configuration: &Configuration,
    repository: &Repository,
    top: usize,
    json: bool,
) -> anyhow::Result<Exit> {
    let scan = read_repository(configuration, repository)?;
    refresh_module_map(configuration, &scan)?;
    if json {
        print_inventory(&scan.inventory)?;
    } else {
        print(&report(&scan.inventory, if top == 0 { usize::MAX } else { top }))?;
    }
    // The process ends next; freeing a million strings one by one would only delay that.
    std::mem::forget(scan);
    Ok(Exit::Done)
}

/// `SANDBOX_AUTO_MAP` makes the map when there is none, `SANDBOX_REFRESH_MODULE_MAP` in any case.
fn refresh_module_map(configuration: &Configuration, scan: &Scan) -> anyhow::Result<()> {
    let settings = &configuration.settings().module_map;
    let path = map::map_path(configuration);
    let is_wanted = settings.refresh_module_map || (settings.auto_map && !Path::new(&path).exists());
    if is_wanted {
        map::write(&path, &map::build(scan, &default_options()))?;
    }
    Ok(())
}
