//! Assembly of the inventory: combines the facts of all files into names, imports, orphans and scores.

use std::collections::BTreeMap;
use std::path::Path;

use menace_model::inventory::{Inventory, LintFinding, LintRule, Orphan, PythonModule, ScanStatistics};
use rayon::prelude::*;

use crate::cache::CachedFacts;
use crate::facts::FileFacts;
use crate::imports::{
    ModuleIndex, ReexportResolver, ResolvedImports, cycles, declared_entry_points, name_modules,
    resolve_imports, source_roots,
};
use crate::map::ModuleEdge;
use crate::orphans::{OrphanInputs, classify, entry_roles};

use super::gather_facts::GatheredFacts;
use super::module_scores::{churn, code_quality, risk, security_score};
use super::repository_scan::{ChurnReport, RepositoryScan, ScanOptions};

pub(super) fn assemble(
    root: &Path,
    gathered: GatheredFacts,
    options: &ScanOptions,
    churn: impl FnOnce() -> ChurnReport + Send,
) -> RepositoryScan {
    let GatheredFacts { files, entries, project_files, diagnostics, analysed, pool, cache, changed } =
        gathered;
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let save = || {
        if let Some(cache) = &cache {
            let changed: Vec<&str> = changed.iter().map(|index| paths[*index]).collect();
            cache.save(paths.iter().copied().zip(&entries), &changed);
        }
    };
    let is_script: Vec<bool> = files.iter().map(|file| file.is_script).collect();
    let relate = || ResolvedModules::new(root, &paths, &is_script, &entries, &project_files, options);
    let ((), relations) = pool.install(|| rayon::join(save, relate));
    let bytes = files.iter().map(|file| file.stamp.size).sum();
    let statistics = ScanStatistics {
        files: files.len(),
        analysed,
        cached: files.len() - analysed,
        bytes,
        elapsed_ms: 0.0,
    };
    let churn = churn();
    let ResolvedModules { names, imports, roles, cycles, import_time_cycles, orphans, weights } = relations;
    let imported = imports.iter().map(|it| it.at_run_time().map(|edge| edge.target).collect()).collect();
    let modules: Vec<PythonModule> = pool.install(|| {
        let facts = entries.into_par_iter().map(|entry| entry.facts);
        (facts, &paths, &imports, roles)
            .into_par_iter()
            .enumerate()
            .map(|(index, (facts, path, imports, roles))| {
                module(path, index, facts, imports, roles, &names, &churn)
            })
            .collect()
    });
    let inventory = Inventory {
        version: Inventory::VERSION,
        root: root.to_string_lossy().into_owned(),
        modules,
        cycles,
        import_time_cycles,
        orphans,
        diagnostics,
        statistics,
    };
    RepositoryScan { inventory, weights, imported }
}

/// Relations between modules.
struct ResolvedModules {
    names: Vec<String>,
    imports: Vec<ResolvedImports>,
    roles: Vec<Vec<String>>,
    cycles: Vec<Vec<String>>,
    import_time_cycles: Vec<Vec<String>>,
    orphans: Vec<Orphan>,
    weights: Vec<ModuleEdge>,
}

impl ResolvedModules {
    fn new(
        root: &Path,
        paths: &[&str],
        is_script: &[bool],
        entries: &[CachedFacts],
        project_files: &[String],
        options: &ScanOptions,
    ) -> Self {
        let facts: Vec<&FileFacts> = entries.iter().map(|entry| &entry.facts).collect();
        let roots = source_roots(root, project_files, paths);
        let all_imports = facts.iter().flat_map(|facts| &facts.imports);
        let names = name_modules(root, paths, &roots, all_imports);
        let index = ModuleIndex::new(paths, &names);
        let imports: Vec<ResolvedImports> = (0..paths.len())
            .into_par_iter()
            .map(|module| {
                let is_package = paths[module].ends_with("__init__.py");
                resolve_imports(module, &names[module], is_package, &facts[module].imports, &index)
            })
            .collect();
        let declared = declared_entry_points(root, project_files);
        let roles = entry_roles(paths, &names, &facts, is_script, &declared, &index);
        let candidates = OrphanInputs {
            paths,
            names: &names,
            facts: &facts,
            roles: &roles,
            imports: &imports,
            index: &index,
        };
        let orphans = classify(&candidates, &options.orphans);
        let definitions = ReexportResolver { paths, names: &names, facts: &facts, index: &index };
        let weights = if options.weigh { weigh(&imports, &definitions) } else { Vec::new() };
        let at_run_time = edges(&imports, |imports| Box::new(imports.at_run_time().map(|edge| edge.target)));
        let at_import_time =
            edges(&imports, |imports| Box::new(imports.at_import_time().map(|edge| edge.target)));
        Self {
            cycles: cycles(&names, at_run_time),
            import_time_cycles: cycles(&names, at_import_time),
            weights,
            orphans,
            roles,
            imports,
            names,
        }
    }
}

/// Edges of the module map, weighted by one per import statement and one per call.
fn weigh(imports: &[ResolvedImports], definitions: &ReexportResolver<'_>) -> Vec<ModuleEdge> {
    (0..imports.len())
        .into_par_iter()
        .flat_map_iter(|from| {
            let mut weights: BTreeMap<usize, u32> = BTreeMap::new();
            let imported = imports[from].at_run_time().map(|edge| (edge.target, edge.imports));
            for (to, weight) in imported.chain(definitions.calls_of(from)) {
                *weights.entry(to).or_default() += weight;
            }
            weights.into_iter().map(move |(to, weight)| ModuleEdge { from, to, weight: f64::from(weight) })
        })
        .collect()
}

fn edges<'a>(
    imports: &'a [ResolvedImports],
    targets: impl Fn(&'a ResolvedImports) -> Box<dyn Iterator<Item = usize> + 'a>,
) -> impl Iterator<Item = (usize, usize)> {
    imports.iter().enumerate().flat_map(move |(from, resolved)| targets(resolved).map(move |to| (from, to)))
}

fn module(
    path: &str,
    index: usize,
    facts: FileFacts,
    imports: &ResolvedImports,
    entry_points: Vec<String>,
    names: &[String],
    churn_report: &ChurnReport,
) -> PythonModule {
    let lines = facts.lines.total;
    // Every file that was read has at least one section, its module body.
    let was_read = !facts.sections.is_empty();
    let parses = facts.maintainability.is_some();
    let churn =
        churn_report.as_ref().ok().map(|report| churn(lines, report.get(path).copied().unwrap_or_default()));
    let no_churn = churn_report.as_ref().err().map_or("", String::as_str);
    let lint = without_reexports(path, facts.lint);
    let mut imported: Vec<String> = imports.at_run_time().map(|edge| names[edge.target].clone()).collect();
    imported.sort_unstable();
    imported.dedup();
    PythonModule {
        path: path.to_owned(),
        name: names[index].clone(),
        imports: imported,
        import_edges: imports.named(names),
        external_imports: imports.external.clone(),
        foreign_imports: imports.foreign.clone(),
        sections: facts.sections,
        lines: facts.lines,
        maintainability: facts.maintainability,
        halstead: parses.then_some(facts.halstead),
        entropy: was_read.then_some(facts.entropy),
        risk: risk(churn.as_ref(), no_churn, facts.maintainability),
        churn,
        code_quality: parses.then(|| code_quality(&lint, lines)),
        security_score: parses.then(|| security_score(&facts.findings, lines)),
        findings: facts.findings,
        lint,
        entry_points,
    }
}

/// Drops unused imports of an `__init__.py`, which imports names so that other modules can import them from it.
fn without_reexports(path: &str, mut lint: Vec<LintFinding>) -> Vec<LintFinding> {
    if path.ends_with("__init__.py") {
        lint.retain(|finding| finding.rule != LintRule::UnusedImport);
    }
    lint
}
