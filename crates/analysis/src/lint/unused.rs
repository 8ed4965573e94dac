//! What is left at the end: names without a definition, and definitions without a use.

use menace_model::inventory::LintRule;

use super::check::Checker;
use super::scope::{Binding, BindingKind, Import, ImportForm, ScopeKind, Scopes};

impl Checker<'_> {
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
        for binding in self.scopes.bindings().iter().filter(|binding| !binding.is_used) {
            match binding.kind {
                BindingKind::Exception if !is_dummy(binding.name) => {
                    self.findings.add(LintRule::UnusedVariable, binding.offset, binding.name);
                }
                BindingKind::Assignment if is_wasted(binding, &self.scopes) => {
                    self.findings.add(LintRule::UnusedVariable, binding.offset, binding.name);
                }
                BindingKind::Import(import) if is_needless(binding, import, &self.scopes) => {
                    let name = import.alias.asname.as_ref().unwrap_or(&import.alias.name).as_str();
                    let rule = LintRule::UnusedImport;
                    self.findings.add_in_statement(rule, binding.offset, name, import.statement);
                }
                _ => {}
            }
        }
    }
}

fn is_wasted(binding: &Binding<'_>, scopes: &Scopes<'_>) -> bool {
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

/// Names that say themselves that nobody will read them: `_`, `__`, `_name`, but not `_name_`.
fn is_dummy(name: &str) -> bool {
    let is_ascii_word = name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    let ends_as_word = name.bytes().last().is_some_and(|byte| byte != b'_');
    name.starts_with('_') && is_ascii_word && (ends_as_word || name.bytes().all(|byte| byte == b'_'))
}

/// Local names that pytest, IPython, Zope and debuggers look for in a frame.
fn is_read_by_tools(name: &str) -> bool {
    matches!(
        name,
        "__tracebackhide__" | "__traceback_info__" | "__traceback_supplement__" | "__debuggerskip__"
    )
}

fn is_needless(binding: &Binding<'_>, import: Import<'_>, scopes: &Scopes<'_>) -> bool {
    matches!(scopes.kind_of(binding.scope), ScopeKind::Module | ScopeKind::Function)
        && !binding.is_shadowed
        && !binding.belongs_outside
        && !is_reexport(import)
        && !is_loaded_for_its_package(binding, import, scopes)
}

/// `import x as x` and `from m import x as x` mean: this is for others.
fn is_reexport(import: Import<'_>) -> bool {
    import.alias.asname.as_ref().is_some_and(|name| name.as_str() == import.alias.name.as_str())
}

/// `import numpy.linalg` next to a used `import numpy as np`: it makes `np.linalg` work.
fn is_loaded_for_its_package(binding: &Binding<'_>, import: Import<'_>, scopes: &Scopes<'_>) -> bool {
    let is_its_package = |other: &Binding<'_>| match other.kind {
        BindingKind::Import(package) => {
            package.form == ImportForm::Module
                && package.module == binding.name
                && package.alias.asname.is_some()
        }
        _ => false,
    };
    import.form == ImportForm::Submodule
        && scopes
            .bindings()
            .iter()
            .any(|other| other.is_used && other.scope == binding.scope && is_its_package(other))
}
