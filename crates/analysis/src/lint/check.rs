//! The lint pass over one file: order of evaluation and context of each node.

use std::collections::VecDeque;

use menace_model::inventory::LintFinding;

use super::finding::FindingCollector;
use super::lookup::LookupTime;
use super::scope::{ScopeId, ScopeKind, ScopeTable};
use super::{noqa, structural_rules};
use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, ParsedPythonSource, Ranged, Stmt, TextSize, ast};

/// Lint findings of one file, sorted by line and rule. Broken files are checked without the rules about names: a part
/// that did not parse may define or use any name.
pub(crate) fn findings(source: &ParsedPythonSource) -> Vec<LintFinding> {
    let mut checker = LintChecker::new();
    checker.visit_body(source.body());
    checker.run_deferred();
    if source.is_valid() {
        checker.report_undefined();
        checker.report_unused();
    }
    noqa::remove_suppressed(source, checker.findings.into_found())
}

pub(super) struct LintChecker<'a> {
    pub(super) scopes: ScopeTable<'a>,
    pub(super) findings: FindingCollector<'a>,
    pub(super) context: LintContext,
    /// `from __future__ import annotations`: annotations do not run.
    pub(super) defers_annotations: bool,
    /// Names listed in `__all__`.
    pub(super) exports: Vec<&'a str>,
    /// Reads that found no binding; a later `global` statement may still provide one.
    pub(super) unresolved: Vec<(String, TextSize)>,
    deferred: VecDeque<DeferredVisit<'a>>,
}

/// Context of a node that affects the names in it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LintContext {
    pub(super) strings: StringMeaning,
    pub(super) lookup: LookupTime,
    /// Whether the node is in the body of a `try` that catches `NameError`.
    pub(super) catches_name_error: bool,
    /// Whether the node is under an `if`, `while`, `match`, or in a branch of a `try`, where a `del` may not run.
    pub(super) is_conditional: bool,
}

/// Meaning of string literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum StringMeaning {
    #[default]
    Values,
    /// A quoted type.
    Annotations,
}

/// Code that is evaluated after all names around it are bound.
pub(super) enum DeferredCode<'a> {
    Function(&'a ast::StmtFunctionDef),
    Lambda(&'a ast::ExprLambda),
    Annotation(&'a Expr),
    QuotedAnnotation(&'a ast::ExprStringLiteral),
}

struct DeferredVisit<'a> {
    work: DeferredCode<'a>,
    scope: ScopeId,
    context: LintContext,
}

impl<'a> LintChecker<'a> {
    fn new() -> Self {
        Self {
            scopes: ScopeTable::new(),
            findings: FindingCollector::default(),
            context: LintContext::default(),
            defers_annotations: false,
            exports: Vec::new(),
            unresolved: Vec::new(),
            deferred: VecDeque::new(),
        }
    }

    pub(super) fn defer(&mut self, work: DeferredCode<'a>) {
        self.deferred.push_back(DeferredVisit { work, scope: self.scopes.current(), context: self.context });
    }

    fn run_deferred(&mut self) {
        while let Some(DeferredVisit { work, scope, context }) = self.deferred.pop_front() {
            self.scopes.go_to(scope);
            let body = LintContext { is_conditional: context.is_conditional, ..LintContext::default() };
            let annotation = LintContext {
                lookup: LookupTime::Forward,
                strings: StringMeaning::Annotations,
                ..LintContext::default()
            };
            match work {
                DeferredCode::Function(function) => {
                    self.context = body;
                    self.run_function(function);
                }
                DeferredCode::Lambda(lambda) => {
                    self.context = body;
                    self.run_lambda(lambda);
                }
                DeferredCode::Annotation(expression) => {
                    self.context = annotation;
                    self.visit_expr(expression);
                }
                DeferredCode::QuotedAnnotation(literal) => {
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
    pub(super) fn visit_in_context(&mut self, context: LintContext, expression: &'a Expr) {
        let before = std::mem::replace(&mut self.context, context);
        self.visit_expr(expression);
        self.context = before;
    }

    pub(super) fn visit_with_strings(&mut self, strings: StringMeaning, expression: &'a Expr) {
        self.visit_in_context(LintContext { strings, ..self.context }, expression);
    }

    pub(super) fn read(&mut self, name: &str, offset: TextSize) {
        let is_bound = self.scopes.resolve(name, self.context.lookup);
        if !is_bound && !self.context.catches_name_error && !name.is_empty() {
            self.unresolved.push((name.to_owned(), offset));
        }
    }
}

impl<'a> Visitor<'a> for LintChecker<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        structural_rules::unreachable_code(body, &mut self.findings);
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
                if self.context.strings == StringMeaning::Annotations {
                    self.defer(DeferredCode::QuotedAnnotation(literal));
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
                structural_rules::comparisons(compare, &mut self.findings);
                visitor::walk_expr(self, expression);
            }
            Expr::Dict(dict) => {
                structural_rules::duplicate_keys(dict, &mut self.findings);
                visitor::walk_expr(self, expression);
            }
            Expr::FString(string) => {
                structural_rules::empty_f_string(string, &mut self.findings);
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
            self.defer(DeferredCode::Annotation(annotation));
        } else {
            self.visit_with_strings(StringMeaning::Annotations, annotation);
        }
    }

    fn visit_pattern(&mut self, pattern: &'a ast::Pattern) {
        self.bind_pattern(pattern);
        visitor::walk_pattern(self, pattern);
    }
}
