//! The lint pass over one file: order of evaluation and context of each node.

use std::collections::VecDeque;

use menace_model::inventory::LintFinding;

use super::finding::Findings;
use super::lookup::Lookup;
use super::scope::{ScopeId, ScopeKind, Scopes};
use super::{noqa, pattern};
use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Ranged, Source, Stmt, TextSize, ast};

/// Lint findings of one file, sorted by line and rule. Broken files are checked without the rules about names: a part
/// that did not parse may define or use any name.
pub(crate) fn findings(source: &Source) -> Vec<LintFinding> {
    let mut checker = Checker::new();
    checker.visit_body(source.body());
    checker.run_deferred();
    if source.is_valid() {
        checker.report_undefined();
        checker.report_unused();
    }
    noqa::without_suppressed(source, checker.findings.into_found())
}

pub(super) struct Checker<'a> {
    pub(super) scopes: Scopes<'a>,
    pub(super) findings: Findings<'a>,
    pub(super) context: Context,
    /// `from __future__ import annotations`: annotations do not run.
    pub(super) defers_annotations: bool,
    /// Names listed in `__all__`.
    pub(super) exports: Vec<&'a str>,
    /// Reads that found no binding; a later `global` statement may still provide one.
    pub(super) unresolved: Vec<(String, TextSize)>,
    deferred: VecDeque<Deferred<'a>>,
}

/// Context of a node that affects the names in it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Context {
    pub(super) strings: Strings,
    pub(super) lookup: Lookup,
    /// Whether the node is in the body of a `try` that catches `NameError`.
    pub(super) catches_name_error: bool,
    /// Whether the node is under an `if`, `while`, `match`, or in a branch of a `try`, where a `del` may not run.
    pub(super) is_conditional: bool,
}

/// Meaning of string literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Strings {
    #[default]
    Values,
    /// A quoted type.
    Annotations,
}

/// Code that is evaluated after all names around it are bound.
pub(super) enum Work<'a> {
    Function(&'a ast::StmtFunctionDef),
    Lambda(&'a ast::ExprLambda),
    Annotation(&'a Expr),
    QuotedAnnotation(&'a ast::ExprStringLiteral),
}

struct Deferred<'a> {
    work: Work<'a>,
    scope: ScopeId,
    context: Context,
}

impl<'a> Checker<'a> {
    fn new() -> Self {
        Self {
            scopes: Scopes::new(),
            findings: Findings::default(),
            context: Context::default(),
            defers_annotations: false,
            exports: Vec::new(),
            unresolved: Vec::new(),
            deferred: VecDeque::new(),
        }
    }

    pub(super) fn defer(&mut self, work: Work<'a>) {
        self.deferred.push_back(Deferred { work, scope: self.scopes.current(), context: self.context });
    }

    fn run_deferred(&mut self) {
        while let Some(Deferred { work, scope, context }) = self.deferred.pop_front() {
            self.scopes.go_to(scope);
            let body = Context { is_conditional: context.is_conditional, ..Context::default() };
            let annotation =
                Context { lookup: Lookup::Forward, strings: Strings::Annotations, ..Context::default() };
            match work {
                Work::Function(function) => {
                    self.context = body;
                    self.run_function(function);
                }
                Work::Lambda(lambda) => {
                    self.context = body;
                    self.run_lambda(lambda);
                }
                Work::Annotation(expression) => {
                    self.context = annotation;
                    self.visit_expr(expression);
                }
                Work::QuotedAnnotation(literal) => {
                    self.context = annotation;
                    self.read_quoted_annotation(literal);
                }
            }
        }
    }

    fn run_function(&mut self, function: &'a ast::StmtFunctionDef) {
        self.scopes.enter(ScopeKind::Function);
        self.bind_parameters(&function.parameters);
        self.visit_body(&function.body);
    }

    fn run_lambda(&mut self, lambda: &'a ast::ExprLambda) {
        self.scopes.enter(ScopeKind::Lambda);
        if let Some(parameters) = &lambda.parameters {
            self.bind_parameters(parameters);
        }
        self.visit_expr(&lambda.body);
    }

    /// Visits `expression` in another context.
    pub(super) fn visit_in(&mut self, context: Context, expression: &'a Expr) {
        let before = std::mem::replace(&mut self.context, context);
        self.visit_expr(expression);
        self.context = before;
    }

    pub(super) fn visit_as(&mut self, strings: Strings, expression: &'a Expr) {
        self.visit_in(Context { strings, ..self.context }, expression);
    }

    pub(super) fn read(&mut self, name: &str, offset: TextSize) {
        let is_bound = self.scopes.resolve(name, self.context.lookup);
        if !is_bound && !self.context.catches_name_error && !name.is_empty() {
            self.unresolved.push((name.to_owned(), offset));
        }
    }
}

impl<'a> Visitor<'a> for Checker<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        pattern::unreachable_code(body, &mut self.findings);
        visitor::walk_body(self, body);
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Expr(expression) => self.visit_expr(&expression.value),
            Stmt::Assign(assign) => self.assign(assign),
            Stmt::FunctionDef(function) => self.define_function(function),
            Stmt::ClassDef(class) => self.define_class(class),
            Stmt::Import(import) => self.import(import),
            Stmt::ImportFrom(import) => self.import_from(import),
            Stmt::AnnAssign(assign) => self.assign_annotated(assign),
            Stmt::AugAssign(assign) => self.assign_augmented(assign),
            Stmt::For(statement) => self.for_loop(statement),
            Stmt::With(statement) => self.with(statement),
            Stmt::Try(statement) => self.try_except(statement),
            Stmt::Delete(statement) => self.delete(statement),
            Stmt::TypeAlias(alias) => self.alias_type(alias),
            Stmt::Global(statement) => {
                for name in &statement.names {
                    self.scopes.declare_global(name.as_str(), name.start());
                }
            }
            Stmt::Nonlocal(statement) => {
                for name in &statement.names {
                    self.scopes.declare_nonlocal(name.as_str(), name.start());
                }
            }
            Stmt::If(_) | Stmt::While(_) | Stmt::Match(_) => {
                let before = self.context.is_conditional;
                self.context.is_conditional = true;
                visitor::walk_stmt(self, statement);
                self.context.is_conditional = before;
            }
            Stmt::Return(_)
            | Stmt::Raise(_)
            | Stmt::Assert(_)
            | Stmt::Pass(_)
            | Stmt::Break(_)
            | Stmt::Continue(_)
            | Stmt::IpyEscapeCommand(_) => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => {
                if name.ctx.is_load() {
                    self.read(name.id.as_str(), name.start());
                }
            }
            Expr::Attribute(attribute) => self.visit_expr(&attribute.value),
            Expr::StringLiteral(literal) => {
                if self.context.strings == Strings::Annotations {
                    self.defer(Work::QuotedAnnotation(literal));
                }
            }
            Expr::Call(call) => self.call(call),
            Expr::Subscript(subscript) => self.subscript(subscript),
            Expr::Named(named) => self.assign_named(named),
            Expr::Lambda(lambda) => self.lambda(lambda),
            Expr::ListComp(list) => self.comprehension(&list.generators, None, &list.elt),
            Expr::SetComp(set) => self.comprehension(&set.generators, None, &set.elt),
            Expr::Generator(generator) => self.comprehension(&generator.generators, None, &generator.elt),
            Expr::DictComp(dict) => self.comprehension(&dict.generators, dict.key.as_deref(), &dict.value),
            Expr::Compare(compare) => {
                pattern::comparisons(compare, &mut self.findings);
                visitor::walk_expr(self, expression);
            }
            Expr::Dict(dict) => {
                pattern::duplicate_keys(dict, &mut self.findings);
                visitor::walk_expr(self, expression);
            }
            Expr::FString(string) => {
                pattern::empty_f_string(string, &mut self.findings);
                self.visit_values(expression);
            }
            Expr::TString(_) => self.visit_values(expression),
            Expr::BytesLiteral(_)
            | Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_)
            | Expr::IpyEscapeCommand(_) => {}
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_annotation(&mut self, annotation: &'a Expr) {
        if self.defers_annotations {
            self.defer(Work::Annotation(annotation));
        } else {
            self.visit_as(Strings::Annotations, annotation);
        }
    }

    fn visit_pattern(&mut self, pattern: &'a ast::Pattern) {
        self.bind_pattern(pattern);
        visitor::walk_pattern(self, pattern);
    }
}
