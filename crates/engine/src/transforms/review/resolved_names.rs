//! Meaning of the names in a file, as far as imports and assignments determine it.

use std::collections::{BTreeMap, BTreeSet};

use crate::editable_source::EditableSource;
use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Stmt, ast};

/// Names of a file: imported ones with their full names, and ones bound otherwise.
#[derive(Debug, Default)]
pub(in crate::transforms) struct ResolvedNames {
    imports: BTreeMap<String, String>,
    bound: BTreeSet<String>,
}

impl ResolvedNames {
    /// Names of a file.
    pub(in crate::transforms) fn of(source: &EditableSource) -> Self {
        let mut names = Self::default();
        names.visit_body(source.body());
        names
    }

    /// Full name of a callee, such as `os.path.join`; a builtin is its own full name.
    pub(in crate::transforms) fn full(&self, callee: &Expr) -> Option<String> {
        match callee {
            Expr::Attribute(attribute) => {
                Some(format!("{}.{}", self.full(&attribute.value)?, attribute.attr))
            }
            Expr::Name(name) if self.bound.contains(name.id.as_str()) => None,
            Expr::Name(name) => {
                Some(self.imports.get(name.id.as_str()).map_or_else(|| name.id.to_string(), Clone::clone))
            }
            _ => None,
        }
    }

    /// Whether the name is unused in the file.
    pub(in crate::transforms) fn is_free(&self, name: &str) -> bool {
        !self.bound.contains(name) && !self.imports.contains_key(name)
    }

    /// Whether the name is this import or is free for it.
    pub(in crate::transforms) fn can_import(&self, name: &str, full: &str) -> bool {
        !self.bound.contains(name) && self.imports.get(name).is_none_or(|found| found == full)
    }

    /// Whether the name is this import.
    pub(in crate::transforms) fn imports(&self, name: &str, full: &str) -> bool {
        !self.bound.contains(name) && self.imports.get(name).is_some_and(|found| found == full)
    }

    /// First of several names that is unused in the file.
    pub(in crate::transforms) fn first_free(&self, names: &[&str]) -> Option<String> {
        names.iter().find(|name| self.is_free(name)).map(|name| (*name).to_owned())
    }

    fn import(&mut self, name: &str, full: String) {
        // A name with two imports has no certain meaning.
        if self.imports.get(name).is_some_and(|found| *found != full) {
            self.bound.insert(name.to_owned());
        }
        self.imports.insert(name.to_owned(), full);
    }

    fn bind(&mut self, name: &str) {
        self.bound.insert(name.to_owned());
    }
}

impl<'a> Visitor<'a> for ResolvedNames {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let full = alias.name.as_str();
                    let first = full.split('.').next().unwrap_or(full);
                    match &alias.asname {
                        Some(name) => self.import(name.as_str(), full.to_owned()),
                        None => self.import(first, first.to_owned()),
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                let dots = ".".repeat(import.level as usize);
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.import(name.as_str(), format!("{dots}{module}.{}", alias.name));
                }
            }
            Stmt::FunctionDef(function) => self.bind(function.name.as_str()),
            Stmt::ClassDef(class) => self.bind(class.name.as_str()),
            _ => {}
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Name(name) = expression
            && !name.ctx.is_load()
        {
            self.bind(name.id.as_str());
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_parameter(&mut self, parameter: &'a ast::Parameter) {
        self.bind(parameter.name.as_str());
        visitor::walk_parameter(self, parameter);
    }

    fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
        let ast::ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.bind(name.as_str());
        }
        visitor::walk_except_handler(self, handler);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_resolve_to_their_imports() {
        let source = EditableSource::parse(
            "import os.path as p\nfrom re import match\np.join\nmatch\nlen\nx = 1\nx\n",
        )
        .unwrap();
        let names = ResolvedNames::of(&source);
        let full = |index: usize| names.full(&source.body()[index].as_expr_stmt().unwrap().value);
        assert_eq!(full(2).as_deref(), Some("os.path.join"));
        assert_eq!(full(3).as_deref(), Some("re.match"));
        assert_eq!(full(4).as_deref(), Some("len"));
        assert_eq!(full(6), None);
        assert!(names.is_free("y") && !names.is_free("x") && names.can_import("ast", "ast"));
    }
}
