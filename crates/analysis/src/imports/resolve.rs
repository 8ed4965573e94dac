//! Resolution of import statements to edges between the repository's modules.

use std::collections::BTreeSet;

use menace_model::inventory::{ImportKind, ModuleImport};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::sections::RawImport;

use super::module_names::ModuleIndex;

/// All imports of one module by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImportEdge {
    pub(crate) target: usize,
    pub(crate) kind: ImportKind,
    pub(crate) line: u32,
    /// Number of import statements.
    pub(crate) imports: u32,
}

/// The imports of one module.
#[derive(Debug, Default)]
pub(crate) struct ResolvedImports {
    /// One edge per target, sorted by target.
    pub(crate) edges: Vec<ImportEdge>,
    /// Top-level names of modules outside this repository, sorted.
    pub(crate) external: Vec<String>,
    /// Full dotted names of the external modules executed when the module is imported, sorted. Imported members are
    /// included, since they may be modules.
    pub(crate) foreign: Vec<String>,
}

impl ResolvedImports {
    /// Targets of imports that are executed, at import or later.
    pub(crate) fn at_run_time(&self) -> impl Iterator<Item = &ImportEdge> {
        self.edges.iter().filter(|edge| edge.kind != ImportKind::TypeChecking)
    }

    /// Targets of imports that are executed when the module is imported.
    pub(crate) fn at_import_time(&self) -> impl Iterator<Item = &ImportEdge> {
        self.edges.iter().filter(|edge| matches!(edge.kind, ImportKind::Always | ImportKind::Conditional))
    }

    /// Edges with module names instead of indexes, as in the inventory.
    pub(crate) fn named(&self, names: &[String]) -> Vec<ModuleImport> {
        let mut imports: Vec<ModuleImport> = self
            .edges
            .iter()
            .map(|edge| ModuleImport { module: names[edge.target].clone(), kind: edge.kind, line: edge.line })
            .collect();
        imports.sort_by(|left, right| left.module.cmp(&right.module));
        imports
    }
}

/// Resolves the imports of one module. `is_package` is true for an `__init__.py`.
pub(crate) fn resolve_imports(
    importer: usize,
    name: &str,
    is_package: bool,
    imports: &[RawImport],
    index: &ModuleIndex<'_>,
) -> ResolvedImports {
    let mut edges: FxHashMap<usize, ImportEdge> = FxHashMap::default();
    let mut external: FxHashSet<&str> = FxHashSet::default();
    let mut foreign: BTreeSet<String> = BTreeSet::new();
    for import in imports {
        match target_of(import, importer, name, is_package, index) {
            Some(target) if target == importer => {}
            Some(target) => {
                edges
                    .entry(target)
                    .and_modify(|edge| edge.add(import))
                    .or_insert_with(|| ImportEdge::new(target, import));
            }
            None if import.level == 0 => {
                external.extend(import.module.split('.').next());
                if matches!(import.kind, ImportKind::Always | ImportKind::Conditional) {
                    foreign.insert(import.module.clone());
                    let member = import.member.as_deref().filter(|member| *member != "*");
                    foreign.extend(member.map(|member| format!("{}.{member}", import.module)));
                }
            }
            None => {}
        }
    }
    let mut edges: Vec<ImportEdge> = edges.into_values().collect();
    edges.sort_by_key(|edge| edge.target);
    let mut external: Vec<String> =
        external.into_iter().filter(|package| !package.is_empty()).map(str::to_owned).collect();
    external.sort_unstable();
    ResolvedImports { edges, external, foreign: foreign.into_iter().collect() }
}

/// The module of this repository that an import statement imports.
pub(super) fn target_of(
    import: &RawImport,
    importer: usize,
    name: &str,
    is_package: bool,
    index: &ModuleIndex<'_>,
) -> Option<usize> {
    target(&absolute_module(import, name, is_package)?, import, importer, index)
}

impl ImportEdge {
    fn new(target: usize, import: &RawImport) -> Self {
        Self { target, kind: import.kind, line: import.line, imports: 1 }
    }

    /// The kind whose execution is most certain describes the edge; `Always` is the smallest.
    fn add(&mut self, import: &RawImport) {
        self.kind = self.kind.min(import.kind);
        self.line = self.line.min(import.line);
        self.imports += 1;
    }
}

/// The module that an import statement names, with leading dots resolved; `None` if they lead out of the outermost
/// package, which Python rejects.
fn absolute_module(import: &RawImport, importer_name: &str, is_package: bool) -> Option<String> {
    if import.level == 0 {
        return Some(import.module.clone());
    }
    let mut package: Vec<&str> = importer_name.split('.').collect();
    let levels_up = import.level as usize - usize::from(is_package);
    if levels_up >= package.len() {
        return None;
    }
    package.truncate(package.len() - levels_up);
    if !import.module.is_empty() {
        package.push(&import.module);
    }
    Some(package.join("."))
}

/// `from a import b` targets `a.b` if there is such a module, else `a`; likewise `import a.b` when `a.b` is not in this
/// repository.
fn target(module: &str, import: &RawImport, importer: usize, index: &ModuleIndex<'_>) -> Option<usize> {
    let find = |name: &str| {
        index.find(name, importer).or_else(|| find_script_sibling(name, import, importer, index))
    };
    let submodule = import.member.as_ref().filter(|member| *member != "*").map(|member| match module {
        "" => member.clone(),
        module => format!("{module}.{member}"),
    });
    submodule
        .and_then(|name| find(&name))
        .or_else(|| find(module))
        .or_else(|| module.rsplit_once('.').and_then(|(parent, _)| index.find(parent, importer)))
}

/// A script finds modules in its own directory; a module of a package does not (`import json` beside a `json.py`).
fn find_script_sibling(
    name: &str,
    import: &RawImport,
    importer: usize,
    index: &ModuleIndex<'_>,
) -> Option<usize> {
    (import.level == 0).then(|| index.find_in_importer_directory(name, importer)).flatten()
}
