//! Isolated calls on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use menace_model::inventory::{ImportKind, Inventory, ModuleImport, PythonModule};
use menace_runner::{CallExecutor, roots};
use menace_sandbox::SandboxError;
use menace_sandbox::native::{NativeBackend, NativeOptions, ZygoteOptions, ZygotePool};

/// Who makes calls, and how many at once are worth it.
pub(crate) struct RepositoryExecutor {
    pub(crate) executor: Arc<dyn CallExecutor>,
    pub(crate) parallel: usize,
}

impl RepositoryExecutor {
    /// For the modules of a repository, of which those with these paths are called; none means all.
    pub(crate) async fn of(
        inventory: &Inventory,
        python: &str,
        called: &[String],
    ) -> Result<Self, SandboxError> {
        let backend = NativeBackend::start(&NativeOptions::default()).await?;
        let mut options = ZygoteOptions::new(Path::new(&inventory.root));
        options.roots = roots(inventory);
        options.warm = preloaded_modules(inventory, called);
        options.modules = inventory.modules.iter().map(|module| module.path.clone()).collect();
        python.clone_into(&mut options.python);
        // One call is prepared while another runs.
        let parallel = options.parallel * 2;
        Ok(Self { executor: Arc::new(ZygotePool::new(backend, options)), parallel })
    }
}

/// What is imported before the first call, so that no call has to. Everything in it makes every call dearer, because a
/// copy of an interpreter costs what the interpreter holds, so it is what comes along with at least every third module,
/// by itself or by what it imports.
fn preloaded_modules(inventory: &Inventory, called: &[String]) -> Vec<String> {
    let by_name: BTreeMap<&str, &PythonModule> =
        inventory.modules.iter().map(|module| (module.name.as_str(), module)).collect();
    let is_called = |module: &&PythonModule| called.is_empty() || called.contains(&module.path);
    let mut modules = 0;
    let mut importers: BTreeMap<&str, usize> = BTreeMap::new();
    for module in inventory.modules.iter().filter(is_called) {
        modules += 1;
        let foreign = along_with(module, &by_name).into_iter().flat_map(|module| &module.foreign_imports);
        for name in foreign.collect::<BTreeSet<_>>() {
            *importers.entry(name).or_default() += 1;
        }
    }
    importers.into_iter().filter(|(_, count)| count * 3 >= modules).map(|(name, _)| name.to_owned()).collect()
}

/// All modules of the repository that are executed when one is imported: itself, the packages that it is in, what they import.
fn along_with<'a>(
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
        let at_once =
            |import: &&ModuleImport| matches!(import.kind, ImportKind::Always | ImportKind::Conditional);
        open.extend(module.import_edges.iter().filter(at_once).map(|import| import.module.as_str()));
        along.push(*module);
    }
    along
}

/// One thread is enough: the work is done by other processes.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("failed to start the runtime")
}

#[cfg(test)]
mod tests {
    use menace_analysis::scan::{ScanOptions, SilentScanObserver, scan};

    use super::*;

    #[test]
    fn what_comes_along_with_most_modules_is_imported_before_calls() {
        let directory = tempfile::tempdir().unwrap();
        let files = [
            ("shop/__init__.py", "from .cart import add\n"),
            ("shop/cart.py", "import http.client\nfrom urllib import request\nadd = 1\n"),
            ("shop/tax.py", "import json\n"),
            ("shop/late.py", "def later():\n    import sqlite3\n"),
        ];
        for (path, text) in files {
            let place = directory.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        }
        let options = ScanOptions { cache: None, weigh: false, ..ScanOptions::default() };
        let no_churn = || Err("no history".to_owned());
        let found = scan(directory.path(), &options, &SilentScanObserver, no_churn).unwrap();
        // Whoever imports `shop.tax` imports its package first, and that imports `shop.cart`.
        let all = preloaded_modules(&found.inventory, &[]);
        assert_eq!(all, ["http.client", "urllib", "urllib.request"]);
        let alone = preloaded_modules(&found.inventory, &["shop/tax.py".to_owned()]);
        assert_eq!(alone, ["http.client", "json", "urllib", "urllib.request"]);
    }
}
