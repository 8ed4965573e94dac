//! Reports at the end of the pass: names without a definition, and definitions without a use.

use menace_model::inventory::LintRule;
use rustc_hash::FxHashSet;

use super::binding::{BindingKind, BoundImport, ImportForm, NameBinding};
use super::check::LintChecker;
use super::scope::{ScopeId, ScopeKind, ScopeTable};

impl LintChecker<'_> {
    pub(super) fn report_undefined(&mut self) {
        for (name, offset) in std::mem::take(&mut self.unresolved) {
            if !self.scopes.is_declared_global(&name) {
                self.findings.add(LintRule::UndefinedName, offset, name);
            }
        }
    }

    pub(super) fn report_unused(&mut self) {
        for name in std::mem::take(&mut self.exports) {
            self.scopes.export(name);
        }
        let used_packages = used_packages(&self.scopes);
        let is_loaded_for_package = |binding: &NameBinding<'_>, import: BoundImport<'_>| {
            import.form == ImportForm::Submodule && used_packages.contains(&(binding.scope, binding.name))
        };
        for binding in self.scopes.bindings().iter().filter(|binding| !binding.is_used) {
            match binding.kind {
                BindingKind::Exception if !is_dummy(binding.name) => {
                    self.findings.add(LintRule::UnusedVariable, binding.offset, binding.name);
                }
                BindingKind::Assignment if is_unused_variable(binding, &self.scopes) => {
                    self.findings.add(LintRule::UnusedVariable, binding.offset, binding.name);
                }
                BindingKind::Import(import)
                    if is_unused_import(binding, import, &self.scopes)
                        && !is_loaded_for_package(binding, import) =>
                {
                    let name = import.alias.asname.as_ref().unwrap_or(&import.alias.name).as_str();
                    let rule = LintRule::UnusedImport;
                    self.findings.add_in_statement(rule, binding.offset, name, import.statement);
                }
                _ => {}
            }
        }
    }
}

fn is_unused_variable(binding: &NameBinding<'_>, scopes: &ScopeTable<'_>) -> bool {
    let is_read_by_locals = match scopes.kind_of(binding.scope) {
        ScopeKind::Function => scopes.calls_locals(binding.scope),
        ScopeKind::Lambda => false,
        _ => return false,
    };
    !is_read_by_locals
        && !binding.is_shadowed
        && !binding.belongs_outside
        && !is_dummy(binding.name)
        && !is_read_by_tools(binding.name)
}

/// Names that are marked as unused by convention: `_`, `__`, `_name`, but not `_name_`.
fn is_dummy(name: &str) -> bool {
    let is_ascii_word = name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    let ends_as_word = name.bytes().last().is_some_and(|byte| byte != b'_');
    name.starts_with('_') && is_ascii_word && (ends_as_word || name.bytes().all(|byte| byte == b'_'))
}

/// Local names that pytest, Zope and debuggers look for in a frame.
fn is_read_by_tools(name: &str) -> bool {
    matches!(
        name,
        "__tracebackhide__" | "__traceback_info__" | "__traceback_supplement__" | "__debuggerskip__"
    )
}

fn is_unused_import(binding: &NameBinding<'_>, import: BoundImport<'_>, scopes: &ScopeTable<'_>) -> bool {
    matches!(scopes.kind_of(binding.scope), ScopeKind::Module | ScopeKind::Function)
        && !binding.is_shadowed
        && !binding.belongs_outside
        && !is_reexport(import)
}

/// `import x as x` and `from m import x as x` declare a re-export.
fn is_reexport(import: BoundImport<'_>) -> bool {
    import.alias.asname.as_ref().is_some_and(|name| name.as_str() == import.alias.name.as_str())
}

/// Packages that are imported under another name and used: next to `import numpy as np`, `import numpy.linalg`
/// makes `np.linalg` work.
fn used_packages<'a>(scopes: &ScopeTable<'a>) -> FxHashSet<(ScopeId, &'a str)> {
    let package = |binding: &NameBinding<'a>| match binding.kind {
        BindingKind::Import(import) if binding.is_used && import.form == ImportForm::Module => {
            import.alias.asname.as_ref().map(|_| (binding.scope, import.module))
        }
        _ => None,
    };
    scopes.bindings().iter().filter_map(package).collect()
}
