//! Baseline: the code before a proposal, with its inventory and the executor of its calls.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use menace_analysis::scan::RepositoryScan;
use menace_model::calls::SectionDescription;
use menace_model::inventory::Inventory;
use menace_runner::{CallExecutor, CallableSection, ObjectRecipes};

use crate::proposal::Proposal;
use crate::workbench::{EngineError, Workbench};
use crate::worktree::Candidate;

/// The code that proposals are compared with.
pub struct CodeBaseline {
    /// Scan of the code.
    pub scan: RepositoryScan,
    /// Callable sections with their signatures.
    pub targets: Vec<CallableSection>,
    /// Constructed objects for calls of methods.
    pub owners: ObjectRecipes,
    /// Executor of calls.
    pub executor: Arc<dyn CallExecutor>,
    /// Directory of the code, if it is a copy: it must exist as long as calls are made of it.
    _copy: Option<Candidate>,
}

/// A kept candidate with its scan and executor.
pub struct PromotedCandidate {
    pub(crate) candidate: Candidate,
    pub(crate) scan: RepositoryScan,
    pub(crate) executor: Arc<dyn CallExecutor>,
}

impl CodeBaseline {
    /// Scans a directory and describes its callable sections.
    pub async fn of(
        workbench: &dyn Workbench,
        root: &Path,
        modules: &[String],
        seed: u64,
    ) -> Result<Self, EngineError> {
        let scan = workbench.scan(root)?;
        let executor = workbench.executor(&scan.inventory).await?;
        let mut targets = menace_runner::callable_sections(&scan.inventory, modules);
        menace_runner::describe(&executor, &mut targets).await?;
        let owners = menace_runner::find_object_recipes(&executor, &targets, seed).await?;
        Ok(Self { scan, targets, owners, executor, _copy: None })
    }

    /// Baseline after a kept patch: only sections of affected modules are described again.
    pub async fn after(
        self,
        promoted: PromotedCandidate,
        proposal: &Proposal,
        modules: &[String],
        seed: u64,
    ) -> Result<Self, EngineError> {
        let PromotedCandidate { candidate, scan, executor } = promoted;
        let touched = affected_modules(&scan.inventory, |path| proposal.files.contains_key(path));
        let before: BTreeMap<String, Option<SectionDescription>> =
            self.targets.into_iter().map(|target| (target.name(), target.described)).collect();
        let targets = menace_runner::callable_sections(&scan.inventory, modules);
        let (mut affected, mut known): (Vec<CallableSection>, Vec<CallableSection>) =
            targets.into_iter().partition(|target| touched.contains(&target.module));
        for target in &mut known {
            target.described = before.get(&target.name()).cloned().flatten();
        }
        menace_runner::describe(&executor, &mut affected).await?;
        let is_same = |target: &CallableSection| before.get(&target.name()) == Some(&target.described);
        // Objects are constructed as before, unless a constructor changed.
        let makes_objects = proposal.section.contains(".__");
        let are_same = !makes_objects && affected.iter().all(is_same);
        let mut targets = [known, affected].concat();
        let order: BTreeMap<String, usize> = menace_runner::callable_sections(&scan.inventory, modules)
            .iter()
            .enumerate()
            .map(|(index, target)| (target.name(), index))
            .collect();
        targets.sort_by_key(|target| order.get(&target.name()).copied());
        let owners = if are_same {
            self.owners
        } else {
            menace_runner::find_object_recipes(&executor, &targets, seed).await?
        };
        Ok(Self { scan, targets, owners, executor, _copy: Some(candidate) })
    }
}

/// Names of the modules in changed files and of all modules that import them, directly or indirectly.
pub fn affected_modules(inventory: &Inventory, is_changed: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let changed = inventory.modules.iter().filter(|module| is_changed(&module.path));
    let mut touched: BTreeSet<String> = changed.map(|module| module.name.clone()).collect();
    loop {
        let more: Vec<String> = inventory
            .modules
            .iter()
            .filter(|module| !touched.contains(&module.name))
            .filter(|module| module.imports.iter().any(|name| touched.contains(name)))
            .map(|module| module.name.clone())
            .collect();
        if more.is_empty() {
            return touched;
        }
        touched.extend(more);
    }
}
