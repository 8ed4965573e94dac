//! Module names as Python would import them.
//!
//! The name of a file depends on which directory is on `sys.path`, which no file records. Directories with
//! `__init__.py` are packages. A directory without one may be a namespace package (PEP 420) or be itself on the path
//! (`tests/` in Django): the repository's own imports decide, by which of the possible names they use.

use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::sections::RawImport;

use super::source_roots::parent;

/// Top-level directories whose files are run, not imported, unless an import shows otherwise.
const RUN_FROM: &[&str] = &[
    "tests",
    "test",
    "testing",
    "docs",
    "doc",
    "examples",
    "example",
    "scripts",
    "tools",
    "benchmarks",
    "bin",
];

/// Names every file. `imports` are all imports of the repository, which serve as evidence.
pub(crate) fn name_modules<'a>(
    root: &Path,
    paths: &[&str],
    source_roots: &[String],
    imports: impl Iterator<Item = &'a RawImport>,
) -> Vec<String> {
    let evidence = imported_names(imports);
    let packages: FxHashSet<&str> =
        paths.iter().filter(|path| file_name(path) == "__init__.py").map(|path| parent(path)).collect();
    let prefix = if packages.contains("") { packages_above(root) } else { Vec::new() };
    paths
        .iter()
        .map(|path| {
            let namer = ModuleNamer { path, packages: &packages, evidence: &evidence, prefix: &prefix };
            namer.name(deepest_root(path, source_roots))
        })
        .collect()
}

/// Every absolute name that is imported, and every package on the way to it.
fn imported_names<'a>(imports: impl Iterator<Item = &'a RawImport>) -> FxHashSet<String> {
    let mut names: FxHashSet<String> = FxHashSet::default();
    let mut dotted = String::new();
    for import in imports.filter(|import| import.level == 0) {
        let mut package = import.module.as_str();
        while !names.contains(package) {
            names.insert(package.to_owned());
            match package.rfind('.') {
                Some(dot) => package = &package[..dot],
                None => break,
            }
        }
        if let Some(member) = &import.member {
            dotted.clear();
            dotted.push_str(&import.module);
            dotted.push('.');
            dotted.push_str(member);
            if !names.contains(dotted.as_str()) {
                names.insert(dotted.clone());
            }
        }
    }
    names
}

/// Names of the packages above and including the repository, when the repository is itself inside a package.
fn packages_above(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut directory = Some(root);
    while let Some(current) = directory.filter(|current| current.join("__init__.py").exists()) {
        names.extend(current.file_name().map(|name| name.to_string_lossy().into_owned()));
        directory = current.parent();
    }
    names.reverse();
    names
}

fn deepest_root<'a>(path: &str, source_roots: &'a [String]) -> &'a str {
    let is_above = |root: &&String| {
        root.is_empty() || path.strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    source_roots.iter().filter(is_above).map(String::as_str).max_by_key(|root| root.len()).unwrap_or("")
}

struct ModuleNamer<'a> {
    path: &'a str,
    packages: &'a FxHashSet<&'a str>,
    evidence: &'a FxHashSet<String>,
    prefix: &'a [String],
}

impl ModuleNamer<'_> {
    fn name(&self, source_root: &str) -> String {
        let parts = self.parts_from(source_root);
        let package_parts = self.parts_in_packages();
        if package_parts > parts.len() {
            // The outermost package is above the repository.
            return self.prefix.iter().map(String::as_str).chain(parts).collect::<Vec<_>>().join(".");
        }
        let outermost_package = parts.len() - package_parts;
        let start = self.start_by_evidence(&parts, outermost_package);
        parts[start..].join(".")
    }

    /// The path below the source root as name parts; `__init__.py` stands for its directory.
    fn parts_from(&self, source_root: &str) -> Vec<&str> {
        let relative = self.path.strip_prefix(source_root).unwrap_or(self.path).trim_start_matches('/');
        let stem = relative.strip_suffix(".py").or_else(|| relative.strip_suffix(".pyw")).unwrap_or(relative);
        let mut parts: Vec<&str> = stem.split('/').collect();
        if parts.last() == Some(&"__init__") && (parts.len() > 1 || !self.prefix.is_empty()) {
            parts.pop();
        }
        parts
    }

    /// Number of trailing parts of the name inside packages with `__init__.py`, the module itself included.
    fn parts_in_packages(&self) -> usize {
        let mut directory = parent(self.path);
        let mut count = usize::from(file_name(self.path) != "__init__.py");
        while self.packages.contains(directory) {
            count += 1;
            if directory.is_empty() {
                return usize::MAX;
            }
            directory = parent(directory);
        }
        count
    }

    /// Index of the part at which the name starts: that of the longest form that an import uses, else by convention.
    fn start_by_evidence(&self, parts: &[&str], outermost_package: usize) -> usize {
        if outermost_package == 0 {
            return 0;
        }
        let is_identifier =
            |part: &&str| !part.is_empty() && part.chars().all(|it| it.is_alphanumeric() || it == '_');
        let first_possible =
            parts[..outermost_package].iter().rposition(|part| !is_identifier(part)).map_or(0, |it| it + 1);
        let package_end = (outermost_package + 1).min(parts.len());
        let seen = (first_possible..=outermost_package)
            .find(|start| self.evidence.contains(&parts[*start..package_end].join(".")));
        seen.unwrap_or_else(|| {
            let is_run_from = RUN_FROM.contains(&parts[0]);
            let has_own_package =
                outermost_package + 1 < parts.len() || file_name(self.path) == "__init__.py";
            if is_run_from && has_own_package { outermost_package } else { first_possible }
        })
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Modules by name and by path.
pub(crate) struct ModuleIndex<'a> {
    by_name: FxHashMap<&'a str, Vec<usize>>,
    by_path: FxHashMap<&'a str, usize>,
    paths: &'a [&'a str],
}

impl<'a> ModuleIndex<'a> {
    pub(crate) fn new(paths: &'a [&'a str], names: &'a [String]) -> Self {
        let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (index, name) in names.iter().enumerate() {
            by_name.entry(name.as_str()).or_default().push(index);
        }
        // If a package and a module share a name, Python imports the package.
        for modules in by_name.values_mut() {
            modules.sort_by_key(|index| (file_name(paths[*index]) != "__init__.py", *index));
        }
        let by_path = paths.iter().enumerate().map(|(index, path)| (*path, index)).collect();
        Self { by_name, by_path, paths }
    }

    /// The module of that name; of several, the one that shares most of its path with the importer.
    pub(crate) fn find(&self, name: &str, importer: usize) -> Option<usize> {
        self.find_near(name, self.paths[importer])
    }

    /// The module of that name; of several, the one that shares most of its path with `from`.
    pub(crate) fn find_near(&self, name: &str, from: &str) -> Option<usize> {
        match self.by_name.get(name)?.as_slice() {
            [only] => Some(*only),
            several => {
                let closeness = |index: &usize| common_directories(from, self.paths[*index]);
                let closest = several.iter().map(closeness).max()?;
                several.iter().copied().find(|index| closeness(index) == closest)
            }
        }
    }

    /// A module in the importer's own directory, as a script finds it.
    pub(crate) fn find_in_importer_directory(&self, name: &str, importer: usize) -> Option<usize> {
        let directory = parent(self.paths[importer]);
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let find = |path: String| self.by_path.get(path.as_str()).copied();
        if find(format!("{prefix}__init__.py")).is_some() {
            return None;
        }
        let relative = name.replace('.', "/");
        find(format!("{prefix}{relative}/__init__.py")).or_else(|| find(format!("{prefix}{relative}.py")))
    }
}

fn common_directories(left: &str, right: &str) -> usize {
    left.split('/').zip(right.split('/')).take_while(|(a, b)| a == b).count()
}
