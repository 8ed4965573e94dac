//! Liveness: modules that are needed by an entry point outside the tests.

use crate::facts::FileFacts;
use crate::imports::{EntryPointDeclaration, ModuleIndex, ResolvedImports};

use super::path_conventions::{conventional_role, is_test};

/// Entry point roles of each module; empty for a module at which Python does not start.
pub(crate) fn entry_roles(
    paths: &[&str],
    names: &[String],
    facts: &[&FileFacts],
    is_script: &[bool],
    declared: &[EntryPointDeclaration],
    index: &ModuleIndex<'_>,
) -> Vec<Vec<String>> {
    let mut roles: Vec<Vec<String>> = paths
        .iter()
        .enumerate()
        .map(|(module, path)| own_roles(path, &names[module], facts[module], is_script[module]))
        .collect();
    for declaration in declared {
        if let Some(module) = index.find_near(&declaration.module, &declaration.file) {
            roles[module].push(declaration.role.clone());
        }
    }
    roles
}

fn own_roles(path: &str, name: &str, facts: &FileFacts, is_script: bool) -> Vec<String> {
    let mut roles = Vec::new();
    roles.extend(conventional_role(path).map(str::to_owned));
    if is_test(path) {
        roles.push("test".to_owned());
    }
    if facts.has_main_guard || facts.has_shebang || is_script {
        roles.push("script".to_owned());
    }
    if path.ends_with("__init__.py") && !name.contains('.') && !is_test(path) {
        roles.push("public package".to_owned());
    }
    roles
}

/// Marks the modules that are reachable from entry points other than tests, by imports and by names in strings, and
/// the packages around them.
pub(super) fn live_modules(
    names: &[String],
    paths: &[&str],
    roles: &[Vec<String>],
    imports: &[ResolvedImports],
    named_in_strings: &[Vec<usize>],
    index: &ModuleIndex<'_>,
) -> Vec<bool> {
    let mut live = vec![false; names.len()];
    let mut queue: Vec<usize> =
        (0..names.len()).filter(|module| !roles[*module].is_empty() && !is_test(paths[*module])).collect();
    while let Some(module) = queue.pop() {
        if std::mem::replace(&mut live[module], true) {
            continue;
        }
        queue.extend(imports[module].edges.iter().map(|edge| edge.target));
        queue.extend(&named_in_strings[module]);
        let mut package = names[module].as_str();
        while let Some((above, _)) = package.rsplit_once('.') {
            queue.extend(index.find(above, module));
            package = above;
        }
    }
    live
}

/// Modules that a module's strings name: `"shop.plugins.stripe"`, `"shop.cli:main"`, `"shop.views.Cart"`.
pub(super) fn named_in_strings(facts: &[&FileFacts], index: &ModuleIndex<'_>) -> Vec<Vec<usize>> {
    facts
        .iter()
        .enumerate()
        .map(|(module, facts)| {
            facts.dotted_strings.iter().filter_map(|text| module_in_string(text, module, index)).collect()
        })
        .collect()
}

fn module_in_string(text: &str, importer: usize, index: &ModuleIndex<'_>) -> Option<usize> {
    let dotted = text.split(':').next().unwrap_or(text);
    // At most an attribute of a class may follow the module.
    let parents = std::iter::successors(Some(dotted), |name| name.rsplit_once('.').map(|(parent, _)| parent));
    parents.take(3).filter(|name| name.contains('.')).find_map(|name| index.find(name, importer))
}
