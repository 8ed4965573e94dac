//! `menace map`: groups of related modules.

use menace_analysis::map::{MapOptions, ModuleMap};
use menace_app::module_map;
use menace_app::repository::{ScanPurpose, read_repository};

use crate::arguments::{ModuleGroupingArguments, RepositoryArguments};
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, count, note, print, print_json};

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
    let scan = read_repository(configuration.app(), &repository.scan(), ScanPurpose::ModuleMap)?;
    let map = module_map::build(&scan, &options(grouping));
    let path = module_map::path(configuration.app());
    module_map::write(&path, &map)?;
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
