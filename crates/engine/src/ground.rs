//! The code as it is now: what it consists of, and who makes calls of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use menace_analysis::scan::Scan;
use menace_model::calls::Described;
use menace_model::inventory::Inventory;
use menace_runner::{Execute, Owners, Target};

use crate::proposal::Proposal;
use crate::tree::Candidate;
use crate::workbench::{EngineError, Workbench};

/// Code as it is now.
pub struct Ground {
    /// What it consists of.
    pub scan: Scan,
    /// What can be called, described.
    pub targets: Vec<Target>,
    /// Objects that could be made.
    pub owners: Owners,
    /// Who makes calls.
    pub executor: Arc<dyn Execute>,
    /// Where that code is, if it is a copy: it has to stay as long as calls are made of it.
    _copy: Option<Candidate>,
}

/// A candidate that is kept, with who makes calls of it.
pub struct Promoted {
    pub(crate) candidate: Candidate,
    pub(crate) scan: Scan,
    pub(crate) executor: Arc<dyn Execute>,
}

impl Ground {
    /// Reads what is in a directory and asks what can be called.
    pub async fn of(
        workbench: &dyn Workbench,
        root: &Path,
        modules: &[String],
        seed: u64,
    ) -> Result<Self, EngineError> {
        let scan = workbench.scan(root)?;
        let executor = workbench.executor(&scan.inventory).await?;
        let mut targets = menace_runner::targets(&scan.inventory, modules);
        menace_runner::describe(&executor, &mut targets).await?;
        let owners = menace_runner::find_owners(&executor, &targets, seed).await?;
        Ok(Self { scan, targets, owners, executor, _copy: None })
    }

    /// The same after a change: only what the change touches is asked again.
    pub async fn after(
        self,
        promoted: Promoted,
        proposal: &Proposal,
        modules: &[String],
        seed: u64,
    ) -> Result<Self, EngineError> {
        let Promoted { candidate, scan, executor } = promoted;
        let touched = touched(&scan.inventory, |path| proposal.files.contains_key(path));
        let before: BTreeMap<String, Option<Described>> =
            self.targets.into_iter().map(|target| (target.name(), target.described)).collect();
        let targets = menace_runner::targets(&scan.inventory, modules);
        let (mut asked, mut known): (Vec<Target>, Vec<Target>) =
            targets.into_iter().partition(|target| touched.contains(&target.module));
        for target in &mut known {
            target.described = before.get(&target.name()).cloned().flatten();
        }
        menace_runner::describe(&executor, &mut asked).await?;
        let is_same = |target: &Target| before.get(&target.name()) == Some(&target.described);
        // Objects are made as before, unless how they are made is what changed.
        let makes_objects = proposal.section.contains(".__");
        let are_same = !makes_objects && asked.iter().all(is_same);
        let mut targets = [known, asked].concat();
        let order: BTreeMap<String, usize> = menace_runner::targets(&scan.inventory, modules)
            .iter()
            .enumerate()
            .map(|(index, target)| (target.name(), index))
            .collect();
        targets.sort_by_key(|target| order.get(&target.name()).copied());
        let owners = if are_same {
            self.owners
        } else {
            menace_runner::find_owners(&executor, &targets, seed).await?
        };
        Ok(Self { scan, targets, owners, executor, _copy: Some(candidate) })
    }
}

/// Names of modules in changed files, and of those that import them, however far.
pub fn touched(inventory: &Inventory, is_changed: impl Fn(&str) -> bool) -> BTreeSet<String> {
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
