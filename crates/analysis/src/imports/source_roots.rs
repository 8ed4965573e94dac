//! The directories of a repository from which Python would import.

use std::collections::BTreeSet;
use std::path::Path;

/// Import roots relative to the repository, `""` for the repository itself: every directory with a project file, its
/// `src`, and the directories that its build configuration names.
pub(crate) fn source_roots(root: &Path, project_files: &[String], paths: &[&str]) -> Vec<String> {
    let mut roots = BTreeSet::from([String::new()]);
    for file in project_files {
        let project = parent(file).to_owned();
        if file.ends_with("pyproject.toml") {
            roots.extend(declared_roots(&root.join(file)).iter().map(|declared| join(&project, declared)));
        }
        roots.insert(project);
    }
    for project in roots.clone() {
        roots.insert(join(&project, "src"));
    }
    // A directory that is itself a package is not an import root.
    let is_package = |directory: &str| {
        !directory.is_empty() && paths.binary_search(&join(directory, "__init__.py").as_str()).is_ok()
    };
    roots.into_iter().filter(|directory| !is_package(directory)).collect()
}

/// Roots declared by `where` and `package-dir` of setuptools, and by the equivalent settings of poetry and hatch.
fn declared_roots(path: &Path) -> Vec<String> {
    let Some(document) = read_toml(path) else { return Vec::new() };
    let Some(tool) = document.get("tool") else { return Vec::new() };
    let mut roots = Vec::new();
    let lookup = |keys: &[&str]| keys.iter().try_fold(tool, |table, key| table.get(key));
    if let Some(places) = lookup(&["setuptools", "packages", "find", "where"]) {
        roots.extend(strings(places));
    }
    if let Some(table) = lookup(&["setuptools", "package-dir"]).and_then(toml::Value::as_table) {
        roots.extend(table.get("").and_then(toml::Value::as_str).map(str::to_owned));
    }
    if let Some(packages) = lookup(&["poetry", "packages"]).and_then(toml::Value::as_array) {
        roots.extend(packages.iter().filter_map(|it| it.get("from")?.as_str()).map(str::to_owned));
    }
    if let Some(sources) = lookup(&["hatch", "build", "sources"]) {
        roots.extend(strings(sources));
    }
    if let Some(paths) = lookup(&["pytest", "ini_options", "pythonpath"]) {
        roots.extend(strings(paths));
    }
    roots
}

pub(super) fn read_toml(path: &Path) -> Option<toml::Value> {
    // The build tool reports a project file that does not parse; here it declares nothing.
    std::fs::read_to_string(path).ok()?.parse::<toml::Table>().ok().map(toml::Value::Table)
}

fn strings(value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::String(text) => vec![text.clone()],
        toml::Value::Array(items) => {
            items.iter().filter_map(|item| item.as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn join(directory: &str, name: &str) -> String {
    let name = name.trim_start_matches("./").trim_end_matches('/');
    match (directory, name) {
        ("", name) => name.to_owned(),
        (directory, "" | ".") => directory.to_owned(),
        (directory, name) => format!("{directory}/{name}"),
    }
}

/// The directory part of a relative path, `""` at the top.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}
