//! Sections of an inventory that can be called.

use std::collections::BTreeSet;

use menace_model::calls::SectionDescription;
use menace_model::inventory::{Inventory, PythonModule, Section, SectionKind};

/// A section, its location, and the harness's description of it.
#[derive(Debug, Clone)]
pub struct CallableSection {
    /// Module name, as Python imports it.
    pub module: String,
    /// Path of the file, relative to the root of the repository.
    pub path: String,
    /// The section as the scan found it.
    pub section: Section,
    /// Description by the harness; `None` before the harness was asked.
    pub described: Option<SectionDescription>,
}

impl CallableSection {
    /// Fields that its module reads from responses.
    pub fn reads(&self) -> &[String] {
        match &self.described {
            Some(SectionDescription::Callable { reads, .. }) => reads,
            _ => &[],
        }
    }

    /// `module:qualname`.
    pub fn name(&self) -> String {
        format!("{}:{}", self.module, self.section.name)
    }
}

/// Sections that can be called from outside: no tests, no nested functions, no signatures without a body.
pub fn callable_sections(inventory: &Inventory, only: &[String]) -> Vec<CallableSection> {
    let wanted = |module: &&PythonModule| {
        if only.is_empty() { !is_for_tests(&module.path) } else { only.contains(&module.path) }
    };
    let mut found = Vec::new();
    for module in inventory.modules.iter().filter(wanted) {
        let callable = |section: &&Section| {
            !section.is_overload
                && matches!(section.kind, SectionKind::Function | SectionKind::Method | SectionKind::Property)
                && !section.name.contains("<locals>")
        };
        found.extend(module.sections.iter().filter(callable).map(|section| CallableSection {
            module: module.name.clone(),
            path: module.path.clone(),
            section: section.clone(),
            described: None,
        }));
    }
    // A property and its setter share a name, and so do redefined functions.
    let mut names = BTreeSet::new();
    found.retain(|target| names.insert(target.name()));
    found
}

fn is_for_tests(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let file = parts.next().unwrap_or(path);
    file.starts_with("test_")
        || file.ends_with("_test.py")
        || matches!(file, "conftest.py" | "setup.py" | "noxfile.py" | "__main__.py")
        || parts.any(|part| matches!(part, "tests" | "test" | "testing" | "docs" | "examples" | "benchmarks"))
}

/// Directories from which modules are imported, relative to the root of the repository: most often the root itself.
pub fn roots(inventory: &Inventory) -> Vec<String> {
    let mut roots = BTreeSet::new();
    for module in &inventory.modules {
        let as_path = module.name.replace('.', "/");
        for ending in [".py", "/__init__.py"] {
            if let Some(root) = module.path.strip_suffix(&format!("{as_path}{ending}")) {
                roots.insert(root.trim_end_matches('/').to_owned());
            }
        }
    }
    roots.into_iter().filter(|root| !root.is_empty()).collect()
}
