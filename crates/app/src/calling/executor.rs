//! Isolated calls on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::AppError;
use menace_model::inventory::{ImportKind, Inventory, ModuleImport, PythonModule};
use menace_runner::{CallExecutor, roots};
use menace_sandbox::SandboxError;
use menace_sandbox::native::{NativeBackend, NativeOptions, ZygoteOptions, ZygotePool};

/// Executor of the calls of a repository, with the number of concurrent calls.
pub struct RepositoryExecutor {
    /// Executor of the calls.
    pub executor: Arc<dyn CallExecutor>,
    /// Number of concurrent calls.
    pub parallel: usize,
}

impl RepositoryExecutor {
    /// Starts an executor for a repository. `called` has the paths of the called modules; empty for all.
    pub async fn of(inventory: &Inventory, python: &str, called: &[String]) -> Result<Self, SandboxError> {
        let backend = NativeBackend::start(&NativeOptions::default()).await?;
        let mut options = ZygoteOptions::new(Path::new(&inventory.root));
        options.roots = roots(inventory);
        options.warm = preloaded_modules(inventory, called);
        options.modules = inventory.modules.iter().map(|module| module.path.clone()).collect();
        python.clone_into(&mut options.python);
        // Two per slot: one call is prepared while another runs.
        let parallel = options.parallel * 2;
        Ok(Self { executor: Arc::new(ZygotePool::new(backend, options)), parallel })
    }
}

/// Foreign modules that the zygote imports before the first call. The cost of a fork grows with the memory of the
/// interpreter, so only modules that at least a third of the called modules import, directly or not, are preloaded.
fn preloaded_modules(inventory: &Inventory, called: &[String]) -> Vec<String> {
    let by_name: BTreeMap<&str, &PythonModule> =
        inventory.modules.iter().map(|module| (module.name.as_str(), module)).collect();
    let is_called = |module: &&PythonModule| called.is_empty() || called.contains(&module.path);
    let mut modules = 0;
    let mut importers: BTreeMap<&str, usize> = BTreeMap::new();
    for module in inventory.modules.iter().filter(is_called) {
        modules += 1;
        let foreign =
            executed_on_import(module, &by_name).into_iter().flat_map(|module| &module.foreign_imports);
        for name in foreign.collect::<BTreeSet<_>>() {
            *importers.entry(name).or_default() += 1;
        }
    }
    importers.into_iter().filter(|(_, count)| count * 3 >= modules).map(|(name, _)| name.to_owned()).collect()
}

/// Modules of the repository that are executed when one is imported: the module, its packages, and their imports.
fn executed_on_import<'a>(
    module: &'a PythonModule,
    by_name: &BTreeMap<&str, &'a PythonModule>,
) -> Vec<&'a PythonModule> {
    let (mut seen, mut open, mut along) = (BTreeSet::new(), vec![module.name.as_str()], Vec::new());
    while let Some(name) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        open.extend(name.rsplit_once('.').map(|(package, _)| package));
        let Some(module) = by_name.get(name) else { continue };
        let is_executed_on_import =
            |import: &&ModuleImport| matches!(import.kind, ImportKind::Always | ImportKind::Conditional);
        open.extend(
            module.import_edges.iter().filter(is_executed_on_import).map(|import| import.module.as_str()),
        );
        along.push(*module);
    }
    along
}

/// Creates a single-threaded async runtime; the work is done by other processes.
pub fn runtime() -> Result<tokio::runtime::Runtime, AppError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| AppError::Host { action: "start the async runtime", source })
}

#[cfg(test)]
mod tests {
    use menace_analysis::scan::{ScanOptions, SilentScanObserver, scan};

    use super::*;

    #[test]
    fn modules_that_a_third_of_the_modules_import_are_preloaded() {
        let directory = tempfile::tempdir().unwrap();
        let files = [
            ("shop/__init__.py", "from .cart import add\n"),
            ("shop/cart.py", "import http.client\nfrom urllib import request\nadd = 1\n"),
            ("shop/tax.py", "import json\n"),
            ("shop/late.py", "def later():\n    import sqlite3\n"),
        ];
        for (path, text) in files {
            let file = directory.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let options = ScanOptions { cache: None, weigh: false, ..ScanOptions::default() };
        let no_churn = || Err("no history".to_owned());
        let found = scan(directory.path(), &options, &SilentScanObserver, no_churn).unwrap();
        // Importing `shop.tax` imports its package, and the package imports `shop.cart`.
        let all = preloaded_modules(&found.inventory, &[]);
        assert_eq!(all, ["http.client", "urllib", "urllib.request"]);
        let alone = preloaded_modules(&found.inventory, &["shop/tax.py".to_owned()]);
        assert_eq!(alone, ["http.client", "json", "urllib", "urllib.request"]);
    }
}
