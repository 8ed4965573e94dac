//! Integration: adds orphans that passed to the module map and to workflows; the others stay orphans.

use menace_analysis::orphans::{OrphanFileOptions, write_orphan_files};
use menace_analysis::scan::RepositoryScan;
use menace_model::inventory::{Orphan, SectionKind};
use menace_store::StoreError;

use crate::calling::{now_ms, open_store};
use crate::module_map;

use super::round::ModuleTestResult;
use crate::{AppContext, AppError, AppEvent};

/// Integrates the orphans that passed; returns their paths.
pub(super) async fn integrate(
    context: &AppContext,
    scan: &RepositoryScan,
    modules: &[ModuleTestResult],
) -> Result<Vec<String>, AppError> {
    let settings = context.settings();
    if settings.self_test.self_test_disable_orphans || settings.orphans.disable_orphan_scan {
        return Ok(Vec::new());
    }
    let has_passed = |orphan: &&Orphan| {
        modules.iter().any(|module| module.path == orphan.path && module.passed == Some(true))
    };
    let (passed, left): (Vec<&Orphan>, Vec<&Orphan>) = scan.inventory.orphans.iter().partition(has_passed);
    if passed.is_empty() {
        return Ok(Vec::new());
    }
    let paths: Vec<String> = passed.iter().map(|orphan| orphan.path.clone()).collect();
    if settings.self_test.self_test_disable_auto_integration {
        context.emit(AppEvent::IntegrationDisabled { count: paths.len() });
        return Ok(Vec::new());
    }
    module_map::write(&module_map::path(context), &module_map::build(scan, &module_map::default_options()))?;
    let left: Vec<Orphan> = left.into_iter().cloned().collect();
    // `clean` drops names of earlier rounds: a module that passed is no longer an orphan.
    let files = OrphanFileOptions { include_redundant: settings.orphans.test_redundant, clean: true };
    write_orphan_files(&context.data_directory(), &left, files)?;
    add_workflows(context, scan, &paths).await?;
    Ok(paths)
}

/// Adds a workflow with one step for each module: its first public function.
async fn add_workflows(
    context: &AppContext,
    scan: &RepositoryScan,
    paths: &[String],
) -> Result<(), AppError> {
    let store = open_store(context).await?;
    for module in scan.inventory.modules.iter().filter(|module| paths.contains(&module.path)) {
        let is_public = |section: &&menace_model::inventory::Section| {
            section.kind == SectionKind::Function
                && !section.name.starts_with('_')
                && !section.name.contains('.')
        };
        let Some(section) = module.sections.iter().find(is_public) else { continue };
        let steps = [format!("{}:{}", module.name, section.name)];
        match store.add_workflow(&module.name, &steps, now_ms()).await {
            Ok(_) | Err(StoreError::WorkflowExists(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(store.close().await?)
}
