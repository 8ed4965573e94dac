//! Facts about a Python file that the alignment rules compare.

use std::collections::{BTreeMap, BTreeSet};

use crate::editable_source::EditableSource;
use crate::syntax::visitor::{Visitor, walk_except_handler, walk_expr, walk_stmt};
use crate::syntax::{Expr, Stmt, ast};

/// Facts about one file.
#[derive(Debug, Default)]
pub(super) struct AlignmentFacts {
    /// Functions and classes by qualified name, and whether they have a docstring.
    pub(super) definitions: BTreeMap<String, bool>,
    /// Number of logging calls.
    pub(super) logging: usize,
    /// Number of handlers that catch everything.
    pub(super) broad: usize,
    /// Number of handlers that do not raise.
    pub(super) swallowing: usize,
    /// Dotted names of callees.
    pub(super) calls: BTreeSet<String>,
    /// Dotted names in expressions and imports.
    pub(super) names: BTreeSet<String>,
    /// Names of imported modules.
    pub(super) imports: BTreeSet<String>,
    /// Attributes of imported modules that are assigned.
    pub(super) patched: BTreeSet<String>,
    /// Literals as written, with their number.
    pub(super) literals: BTreeMap<String, usize>,
    /// Number of branches, a measure of complexity.
    pub(super) branches: usize,
    /// Licence comments at the top.
    pub(super) licence: Vec<String>,
    text: String,
    path: Vec<String>,
}

impl AlignmentFacts {
    /// Facts of a text; `None` if it does not parse.
    pub(super) fn of(text: &str) -> Option<Self> {
        let source = EditableSource::parse(text)?;
        let mut facts = Self { text: text.to_owned(), licence: licence(text), ..Self::default() };
        facts.visit_body(source.body());
        Some(facts)
    }

    /// Number of comments with these words.
    pub(super) fn marked(&self, words: &str) -> usize {
        let comments = self.text.lines().filter_map(|line| line.split_once('#')).map(|(_, comment)| comment);
        comments.filter(|comment| comment.to_lowercase().contains(words)).count()
    }

    fn define(&mut self, name: &str, body: &[Stmt]) {
        self.path.push(name.to_owned());
        let is_documented = matches!(
            body.first(),
            Some(Stmt::Expr(first)) if matches!(*first.value, Expr::StringLiteral(_))
        );
        self.definitions.insert(self.path.join("."), is_documented);
    }

    fn assigned(&mut self, target: &Expr) {
        if let Some(name) = dotted(target)
            && let Some((module, _)) = name.split_once('.')
            && self.imports.contains(module)
        {
            self.patched.insert(name);
        }
    }
}

fn licence(text: &str) -> Vec<String> {
    let words = ["copyright", "licence", "license", "spdx"];
    let is_about = |line: &&str| words.iter().any(|word| line.to_lowercase().contains(word));
    text.lines()
        .take_while(|line| line.starts_with('#') || line.is_empty())
        .filter(is_about)
        .map(str::to_owned)
        .collect()
}

/// Dotted name of an expression that consists of names only, such as `os.path.join`.
pub(super) fn dotted(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(format!("{}.{}", dotted(&attribute.value)?, attribute.attr)),
        Expr::Subscript(subscript) => dotted(&subscript.value),
        _ => None,
    }
}

const EVERYTHING: [&str; 2] = ["Exception", "BaseException"];

fn catches_everything(handler: &ast::ExceptHandlerExceptHandler) -> bool {
    let is_everything =
        |expression: &Expr| dotted(expression).is_some_and(|name| EVERYTHING.contains(&name.as_str()));
    match handler.type_.as_deref() {
        None => true,
        Some(Expr::Tuple(tuple)) => tuple.elts.iter().any(is_everything),
        Some(one) => is_everything(one),
    }
}

fn raises(body: &[Stmt]) -> bool {
    struct RaiseFinder(bool);
    impl Visitor<'_> for RaiseFinder {
        fn visit_stmt(&mut self, statement: &Stmt) {
            self.0 |= matches!(statement, Stmt::Raise(_));
            walk_stmt(self, statement);
        }
    }
    let mut finder = RaiseFinder(false);
    finder.visit_body(body);
    finder.0
}

const LOGGERS: [&str; 5] = ["logging", "logger", "log", "_logger", "LOGGER"];

impl<'a> Visitor<'a> for AlignmentFacts {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let depth = self.path.len();
        match statement {
            Stmt::FunctionDef(function) => self.define(&function.name, &function.body),
            Stmt::ClassDef(class) => self.define(&class.name, &class.body),
            Stmt::Import(import) => {
                self.imports.extend(import.names.iter().map(|alias| {
                    let full = alias.name.as_str();
                    alias
                        .asname
                        .as_ref()
                        .map_or(full.split('.').next().unwrap_or(full), |name| name.as_str())
                        .to_owned()
                }));
                self.names.extend(import.names.iter().map(|alias| alias.name.to_string()));
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map_or("", |name| name.as_str());
                self.names.extend(import.names.iter().map(|alias| format!("{module}.{}", alias.name)));
            }
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.assigned(target)),
            Stmt::AugAssign(assign) => self.assigned(&assign.target),
            Stmt::Delete(delete) => delete.targets.iter().for_each(|target| self.assigned(target)),
            Stmt::If(_) | Stmt::For(_) | Stmt::While(_) | Stmt::Try(_) | Stmt::With(_) => self.branches += 1,
            _ => {}
        }
        walk_stmt(self, statement);
        self.path.truncate(depth);
    }

    fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
        let ast::ExceptHandler::ExceptHandler(inner) = handler;
        self.broad += usize::from(catches_everything(inner));
        self.swallowing += usize::from(!raises(&inner.body));
        walk_except_handler(self, handler);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Call(call) => {
                if let Some(name) = dotted(&call.func) {
                    let logs = name.split('.').rev().nth(1).is_some_and(|owner| LOGGERS.contains(&owner));
                    self.logging += usize::from(logs);
                    self.calls.insert(name);
                }
            }
            Expr::Attribute(_) | Expr::Name(_) => self.names.extend(dotted(expression)),
            Expr::StringLiteral(_) | Expr::NumberLiteral(_) | Expr::BytesLiteral(_) => {
                let range = crate::syntax::Ranged::range(expression);
                *self.literals.entry(self.text[range].to_owned()).or_default() += 1;
            }
            Expr::BoolOp(_) | Expr::If(_) => self.branches += 1,
            _ => {}
        }
        walk_expr(self, expression);
    }
}
