//! Isolated calls on this machine.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use menace_model::inventory::Inventory;
use menace_runner::{Execute, roots};
use menace_sandbox::native::{NativeBackend, NativeOptions, ZygoteOptions, Zygotes};

/// Who makes calls, and how many at once are worth it.
pub(crate) struct Calling {
    pub(crate) executor: Arc<dyn Execute>,
    pub(crate) parallel: usize,
}

impl Calling {
    /// For the modules of a repository.
    pub(crate) async fn of(inventory: &Inventory, python: &str) -> anyhow::Result<Self> {
        let backend = NativeBackend::start(&NativeOptions::default()).await?;
        let mut options = ZygoteOptions::new(Path::new(&inventory.root));
        options.roots = roots(inventory);
        options.warm = imported(inventory);
        options.modules = inventory.modules.iter().map(|module| module.path.clone()).collect();
        python.clone_into(&mut options.python);
        // One call is prepared while another runs.
        let parallel = options.parallel * 2;
        Ok(Self { executor: Arc::new(Zygotes::new(backend, options)), parallel })
    }
}

/// What the modules of the repository import that is not of the repository.
fn imported(inventory: &Inventory) -> Vec<String> {
    let mut names: Vec<String> =
        inventory.modules.iter().flat_map(|module| module.external_imports.iter().cloned()).collect();
    names.sort();
    names.dedup();
    names
}

/// One thread is enough: the work is done by other processes.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("failed to start the runtime")
}
