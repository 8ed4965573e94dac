//! Imports, and `__all__`, which exports imported names.

use super::binding::{BindingKind, BoundImport, ImportForm};
use super::check::LintChecker;
use super::scope::ScopeKind;
use crate::syntax::{Expr, Ranged, ast};

impl<'a> LintChecker<'a> {
    pub(super) fn import(&mut self, statement: &'a ast::StmtImport) {
        for alias in &statement.names {
            let path = alias.name.as_str();
            let (name, form) = match (&alias.asname, path.split_once('.')) {
                (Some(name), _) => (name.as_str(), ImportForm::Module),
                (None, Some((package, _))) => (package, ImportForm::Submodule),
                (None, None) => (path, ImportForm::Module),
            };
            let import = BoundImport { alias, module: path, form, statement: statement.start() };
            self.scopes.bind(name, alias.start(), BindingKind::Import(import));
        }
    }

    pub(super) fn import_from(&mut self, statement: &'a ast::StmtImportFrom) {
        let module = match &statement.module {
            Some(module) if statement.level == 0 => module.as_str(),
            _ => "",
        };
        for alias in &statement.names {
            let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            if module == "__future__" {
                self.defers_annotations |= alias.name.as_str() == "annotations";
                self.scopes.bind(name, alias.start(), BindingKind::Definition);
            } else if alias.name.as_str() == "*" {
                self.scopes.import_everything();
            } else {
                let form = ImportForm::Member;
                let import = BoundImport { alias, module, form, statement: statement.start() };
                self.scopes.bind(name, alias.start(), BindingKind::Import(import));
            }
        }
    }

    /// Records the names in `__all__ = […]` and `__all__ += […]`. Calls such as `__all__.extend(…)` are not followed;
    /// ruff and pyflakes do not follow them either.
    pub(super) fn collect_exports(&mut self, targets: &[Expr], value: &'a Expr) {
        let is_all = |target: &Expr| matches!(target, Expr::Name(name) if name.id == "__all__");
        if self.scopes.current_kind() == ScopeKind::Module && targets.iter().any(is_all) {
            self.exports.extend(names_in(value));
        }
    }
}

/// Strings in a concatenation of lists and tuples.
fn names_in(value: &Expr) -> Vec<&str> {
    let mut names = Vec::new();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Expr::StringLiteral(name) => names.push(name.value.to_str()),
            Expr::List(list) => pending.extend(&list.elts),
            Expr::Tuple(tuple) => pending.extend(&tuple.elts),
            Expr::Set(set) => pending.extend(&set.elts),
            Expr::BinOp(sum) => pending.extend([&*sum.left, &*sum.right]),
            Expr::Starred(starred) => pending.push(&starred.value),
            Expr::Named(assignment) => pending.push(&assignment.value),
            Expr::Call(call) if call.func.is_name_expr() => pending.extend(&*call.arguments.args),
            _ => {}
        }
    }
    names
}
