//! `menace scan --dependencies MODULE`: the modules of the repository that a module depends on.

use serde::Serialize;

use crate::arguments::RepositoryArguments;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{print, print_json};

use menace_app::RequestError;
use menace_app::repository::{ScanPurpose, read_repository};

#[derive(Serialize)]
struct DependencyReport<'a> {
    version: u32,
    module: &'a str,
    /// Maximum number of imports followed; absent without a limit.
    depth: Option<usize>,
    /// Paths, nearest first.
    dependencies: Vec<&'a str>,
}

pub(super) fn run(
    configuration: &Configuration,
    repository: &RepositoryArguments,
    module: &str,
    json: bool,
) -> anyhow::Result<MenaceExit> {
    let scan = read_repository(configuration.app(), &repository.scan(), ScanPurpose::Inventory)?;
    let depth = configuration.settings().orphans.max_recursion_depth;
    let dependencies = scan
        .local_dependencies(module, depth)
        .ok_or_else(|| RequestError::UnknownModule(module.to_owned()))?;
    if json {
        print_json(&DependencyReport { version: 1, module, depth, dependencies })?;
    } else {
        print(&dependencies.iter().map(|path| format!("{path}\n")).collect::<String>())?;
    }
    Ok(MenaceExit::Done)
}
