//! Classification of the modules that no live module needs, each with its evidence.

use std::collections::VecDeque;

use menace_model::inventory::{Orphan, OrphanClass};

use crate::duplicates::{DuplicateModule, find_duplicates};
use crate::facts::FileFacts;
use crate::imports::{ModuleIndex, ResolvedImports};

use super::liveness::{live_modules, named_in_strings};
use super::path_conventions::{is_test, legacy_word};

/// Options of orphan discovery.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate switch, named after its variable")]
pub struct OrphanOptions {
    /// Search for orphans (`SANDBOX_DISABLE_ORPHAN_SCAN` turns it off).
    pub enabled: bool,
    /// List modules that nothing imports (`SANDBOX_DISCOVER_ISOLATED`).
    pub discover_isolated: bool,
    /// Follow the imports of orphans (`SANDBOX_RECURSIVE_ORPHANS`).
    pub recursive_orphans: bool,
    /// Follow the imports of isolated modules (`SANDBOX_RECURSIVE_ISOLATED`).
    pub recursive_isolated: bool,
    /// Largest number of imports followed from a head (`SANDBOX_MAX_RECURSION_DEPTH`).
    pub max_depth: Option<usize>,
}

impl Default for OrphanOptions {
    fn default() -> Self {
        Self {
            enabled: true,
            discover_isolated: true,
            recursive_orphans: true,
            recursive_isolated: true,
            max_depth: None,
        }
    }
}

/// Inputs of the classification, by module index.
pub(crate) struct OrphanInputs<'a> {
    pub(crate) paths: &'a [&'a str],
    pub(crate) names: &'a [String],
    pub(crate) facts: &'a [&'a FileFacts],
    pub(crate) roles: &'a [Vec<String>],
    pub(crate) imports: &'a [ResolvedImports],
    pub(crate) index: &'a ModuleIndex<'a>,
}

/// Finds and classifies the orphans, sorted by path.
pub(crate) fn classify(modules: &OrphanInputs<'_>, options: &OrphanOptions) -> Vec<Orphan> {
    if !options.enabled {
        return Vec::new();
    }
    let classifier = OrphanClassifier::new(modules);
    let mut listed = classifier.reachable_orphans(options);
    listed.sort_unstable();
    let originals = classifier.originals();
    listed
        .into_iter()
        .map(|module| classifier.describe(module, originals[module]))
        .filter(|orphan| options.discover_isolated || orphan.class != OrphanClass::Isolated)
        .collect()
}

struct OrphanClassifier<'a> {
    modules: &'a OrphanInputs<'a>,
    live: Vec<bool>,
    /// Modules that each module imports or names in a string.
    targets: Vec<Vec<usize>>,
    /// Modules that import each module or name it in a string.
    importers: Vec<Vec<usize>>,
}

impl<'a> OrphanClassifier<'a> {
    fn new(modules: &'a OrphanInputs<'a>) -> Self {
        let OrphanInputs { paths, names, facts, roles, imports, index } = modules;
        let named = named_in_strings(facts, index);
        let live = live_modules(names, paths, roles, imports, &named, index);
        let targets: Vec<Vec<usize>> = (0..names.len())
            .map(|module| {
                let imported = imports[module].edges.iter().map(|edge| edge.target);
                let mut targets: Vec<usize> = imported
                    .chain(named[module].iter().copied())
                    .filter(|target| *target != module)
                    .collect();
                targets.sort_unstable();
                targets.dedup();
                targets
            })
            .collect();
        let mut importers = vec![Vec::new(); names.len()];
        for (importer, targets) in targets.iter().enumerate() {
            for target in targets {
                importers[*target].push(importer);
            }
        }
        Self { modules, live, targets, importers }
    }

    /// An empty `__init__.py` is never an orphan.
    fn is_orphan(&self, module: usize) -> bool {
        let path = self.modules.paths[module];
        !self.live[module]
            && self.modules.roles[module].is_empty()
            && !is_test(path)
            && (self.modules.facts[module].has_code || !path.ends_with("__init__.py"))
    }

    fn is_isolated(&self, module: usize) -> bool {
        self.importers[module].is_empty()
    }

    /// Follows imports from the heads of chains, as far as the options allow.
    fn reachable_orphans(&self, options: &OrphanOptions) -> Vec<usize> {
        let count = self.modules.names.len();
        let mut distance: Vec<Option<usize>> = vec![None; count];
        let heads = (0..count).filter(|module| self.is_orphan(*module) && self.is_head(*module));
        let mut queue: VecDeque<usize> = heads.collect();
        for head in &queue {
            distance[*head] = Some(0);
        }
        self.follow(&mut queue, &mut distance, options);
        if options.recursive_orphans {
            let reachable = self.reachable_from_heads();
            for module in (0..count).filter(|module| self.is_orphan(*module) && !reachable[*module]) {
                distance[module].get_or_insert(0);
            }
        }
        (0..count).filter(|module| distance[*module].is_some()).collect()
    }

    fn follow(&self, queue: &mut VecDeque<usize>, distance: &mut [Option<usize>], options: &OrphanOptions) {
        while let Some(module) = queue.pop_front() {
            let follows =
                if self.is_isolated(module) { options.recursive_isolated } else { options.recursive_orphans };
            let reached = distance[module].unwrap_or(0);
            if !follows || options.max_depth.is_some_and(|limit| reached >= limit) {
                continue;
            }
            for target in &self.targets[module] {
                if self.is_orphan(*target) && distance[*target].is_none() {
                    distance[*target] = Some(reached + 1);
                    queue.push_back(*target);
                }
            }
        }
    }

    /// Whether no orphan imports the module: nothing imports it, or only tests do.
    fn is_head(&self, module: usize) -> bool {
        self.importers[module].iter().all(|importer| !self.is_orphan(*importer))
    }

    /// Orphans that are reachable from a head. The others form cycles that import only each other.
    fn reachable_from_heads(&self) -> Vec<bool> {
        let mut reachable = vec![false; self.modules.names.len()];
        let heads = (0..reachable.len()).filter(|module| self.is_orphan(*module) && self.is_head(*module));
        let mut queue: Vec<usize> = heads.collect();
        while let Some(module) = queue.pop() {
            if !std::mem::replace(&mut reachable[module], true) {
                queue.extend(self.targets[module].iter().filter(|target| self.is_orphan(**target)));
            }
        }
        reachable
    }

    /// Original of each module that is a duplicate: the one of the pair with the higher rank.
    fn originals(&self) -> Vec<Option<DuplicateModule>> {
        let OrphanInputs { paths, facts, .. } = self.modules;
        let compared: Vec<usize> = (0..paths.len()).filter(|module| !is_test(paths[*module])).collect();
        let fingerprints: Vec<_> = compared.iter().map(|module| &facts[*module].fingerprint).collect();
        let mut originals = vec![None; paths.len()];
        for (position, found) in find_duplicates(&fingerprints).into_iter().enumerate() {
            let module = compared[position];
            originals[module] = found
                .map(|duplicate| DuplicateModule { of: compared[duplicate.of], ..duplicate })
                .filter(|duplicate| {
                    self.originality_rank(duplicate.of, module) > self.originality_rank(module, module)
                });
        }
        originals
    }

    /// Rank of a module as the original of a pair.
    fn originality_rank(&self, module: usize, other: usize) -> (bool, bool, usize, bool) {
        let path = self.modules.paths[module];
        (self.live[module], legacy_word(path).is_none(), self.importers[module].len(), module < other)
    }

    fn describe(&self, module: usize, original: Option<DuplicateModule>) -> Orphan {
        let OrphanInputs { paths, facts, .. } = self.modules;
        let path = paths[module];
        let parents: Vec<String> =
            self.importers[module].iter().map(|importer| paths[*importer].to_owned()).collect();
        let legacy = facts[module]
            .legacy_marker
            .clone()
            .or_else(|| legacy_word(path).map(|word| format!("its name contains {word:?}")));
        let (class, reason) = match (original, legacy) {
            (Some(duplicate), _) => {
                (OrphanClass::Redundant, redundant_reason(paths[duplicate.of], duplicate))
            }
            (None, Some(evidence)) => (OrphanClass::Legacy, evidence),
            (None, None) if parents.is_empty() => (
                OrphanClass::Isolated,
                "nothing imports it; it is neither an entry point nor a test".to_owned(),
            ),
            (None, None) => (OrphanClass::Orphan, self.orphan_reason(module)),
        };
        Orphan {
            path: path.to_owned(),
            class,
            parents,
            reason,
            duplicate_of: original.map(|duplicate| paths[duplicate.of].to_owned()),
            similarity: original.map(|duplicate| duplicate.similarity),
        }
    }

    fn orphan_reason(&self, module: usize) -> String {
        let importers = &self.importers[module];
        let tests = importers.iter().filter(|importer| is_test(self.modules.paths[**importer])).count();
        let reason = match (tests, importers.len() - tests) {
            (_, 0) => "only tests import it",
            (0, _) => "only other orphans import it",
            _ => "only tests and other orphans import it",
        };
        reason.to_owned()
    }
}

fn redundant_reason(original: &str, duplicate: DuplicateModule) -> String {
    if duplicate.similarity >= 1.0 {
        format!("same code as {original} except for names, layout and comments")
    } else {
        format!("{:.0} % similar to {original}", duplicate.similarity * 100.0)
    }
}
