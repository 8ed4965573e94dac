//! Statements that bind names.

use menace_model::inventory::LintRule;

use super::binding::BindingKind;
use super::check::{DeferredCode, LintChecker, LintContext, StringMeaning};
use super::scope::{ScopeId, ScopeKind};
use super::{builtins, mutable_default, structural_rules};
use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Ranged, TextSize, ast};

/// Meaning of a name that is bound in a class body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClassNameRole {
    /// An attribute: it hides a builtin in the class body only.
    Attribute,
    /// A temporary variable of the class body.
    Variable,
}

impl<'a> LintChecker<'a> {
    pub(super) fn define_function(&mut self, function: &'a ast::StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.visit_decorator(decorator);
        }
        self.shadow_builtin(&function.name, function.name.start(), ClassNameRole::Attribute);
        let outside = self.enter_type_parameters(function.type_params.as_deref());
        visitor::walk_parameters(self, &function.parameters);
        if let Some(annotation) = &function.returns {
            self.visit_annotation(annotation);
        }
        mutable_default::mutable_defaults(&function.parameters, &self.scopes, &mut self.findings);
        self.report_shadowing_parameters(function);
        self.defer(DeferredCode::Function(function));
        self.scopes.go_to(outside);
        self.scopes.bind(&function.name, function.name.start(), BindingKind::Definition);
    }

    fn report_shadowing_parameters(&mut self, function: &ast::StmtFunctionDef) {
        let mut shadowing =
            function.parameters.iter().filter(|parameter| builtins::is_builtin(parameter.name())).peekable();
        if shadowing.peek().is_none() || self.implements_foreign_signature(function) {
            return;
        }
        for parameter in shadowing {
            let name = parameter.name().as_str().to_owned();
            self.findings.add(LintRule::ShadowedBuiltin, parameter.name().start(), name);
        }
    }

    /// With `@override` or `@overload` the names of the parameters are given by another definition.
    fn implements_foreign_signature(&self, function: &ast::StmtFunctionDef) -> bool {
        function.decorator_list.iter().any(|decorator| {
            let origin = self.scopes.origin(&decorator.expression);
            origin
                .is_some_and(|origin| origin.is_typing() && matches!(origin.member, "overload" | "override"))
        })
    }

    pub(super) fn define_class(&mut self, class: &'a ast::StmtClassDef) {
        for decorator in &class.decorator_list {
            self.visit_decorator(decorator);
        }
        self.shadow_builtin(&class.name, class.name.start(), ClassNameRole::Variable);
        let outside = self.enter_type_parameters(class.type_params.as_deref());
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        self.scopes.enter(ScopeKind::Class);
        self.visit_body(&class.body);
        self.scopes.go_to(outside);
        self.scopes.bind(&class.name, class.name.start(), BindingKind::Definition);
    }

    /// Opens a scope for type parameters, if there are any; returns the enclosing scope.
    fn enter_type_parameters(&mut self, parameters: Option<&'a ast::TypeParams>) -> ScopeId {
        let Some(parameters) = parameters else { return self.scopes.current() };
        let outside = self.scopes.enter(ScopeKind::TypeParameters);
        for parameter in &parameters.type_params {
            let name = parameter.name();
            self.scopes.bind(name, name.start(), BindingKind::Definition);
            let bound = match parameter {
                ast::TypeParam::TypeVar(variable) => variable.bound.as_deref(),
                ast::TypeParam::TypeVarTuple(_) | ast::TypeParam::ParamSpec(_) => None,
            };
            for expression in bound.into_iter().chain(parameter.default()) {
                self.defer(DeferredCode::Annotation(expression));
            }
        }
        outside
    }

    pub(super) fn bind_parameters(&mut self, parameters: &'a ast::Parameters) {
        for parameter in parameters {
            let name = &parameter.as_parameter().name;
            self.scopes.bind(name, name.start(), BindingKind::Definition);
        }
    }

    pub(super) fn alias_type(&mut self, alias: &'a ast::StmtTypeAlias) {
        let outside = self.enter_type_parameters(alias.type_params.as_deref());
        self.defer(DeferredCode::Annotation(&alias.value));
        self.scopes.go_to(outside);
        self.bind_target(&alias.name, BindingKind::Definition, ClassNameRole::Attribute);
    }

    pub(super) fn assign(&mut self, assign: &'a ast::StmtAssign) {
        self.visit_expr(&assign.value);
        self.report_self_assignments(&assign.targets, &assign.value);
        self.collect_exports(&assign.targets, &assign.value);
        // `a, b = 1, 2` is a sequence of assignments; everything else is unpacked, and a part of an unpacked value
        // may be named only to fill its position.
        let is_pairwise = is_sequence(&assign.value) && assign.targets.iter().all(is_sequence);
        for target in &assign.targets {
            let is_unpacked = is_sequence(target) && !is_pairwise;
            let kind = if is_unpacked { BindingKind::Definition } else { BindingKind::Assignment };
            self.bind_target(target, kind, ClassNameRole::Attribute);
        }
    }

    pub(super) fn assign_annotated(&mut self, assign: &'a ast::StmtAnnAssign) {
        self.visit_annotation(&assign.annotation);
        let Some(value) = &assign.value else {
            return self.bind_target(&assign.target, BindingKind::Annotation, ClassNameRole::Attribute);
        };
        let is_alias = self.scopes.origin(&assign.annotation).is_some_and(|origin| origin.is("TypeAlias"));
        let strings = if is_alias { StringMeaning::Annotations } else { self.context.strings };
        self.visit_with_strings(strings, value);
        let targets = std::slice::from_ref(&*assign.target);
        self.report_self_assignments(targets, value);
        self.collect_exports(targets, value);
        self.bind_target(&assign.target, BindingKind::Assignment, ClassNameRole::Attribute);
    }

    pub(super) fn assign_augmented(&mut self, assign: &'a ast::StmtAugAssign) {
        if let Expr::Name(name) = &*assign.target {
            self.read(&name.id, name.start());
        }
        self.visit_expr(&assign.value);
        self.collect_exports(std::slice::from_ref(&*assign.target), &assign.value);
        self.bind_target(&assign.target, BindingKind::Assignment, ClassNameRole::Attribute);
    }

    fn report_self_assignments(&mut self, targets: &'a [Expr], value: &'a Expr) {
        // In a class, `x = x` copies an outer name into the class.
        if self.scopes.current_kind() != ScopeKind::Class {
            structural_rules::self_assignments(targets, value, &mut self.findings);
        }
    }

    pub(super) fn for_loop(&mut self, statement: &'a ast::StmtFor) {
        self.visit_expr(&statement.iter);
        self.bind_target(&statement.target, BindingKind::Definition, ClassNameRole::Variable);
        self.visit_body(&statement.body);
        self.visit_body(&statement.orelse);
    }

    pub(super) fn with(&mut self, statement: &'a ast::StmtWith) {
        for item in &statement.items {
            self.visit_expr(&item.context_expr);
            if let Some(target) = item.optional_vars.as_deref() {
                let kind =
                    if target.is_tuple_expr() { BindingKind::Definition } else { BindingKind::Assignment };
                self.bind_target(target, kind, ClassNameRole::Variable);
            }
        }
        self.visit_body(&statement.body);
    }

    pub(super) fn try_except(&mut self, statement: &'a ast::StmtTry) {
        let before = self.context;
        let catches_name_error = before.catches_name_error || catches_name_error(&statement.handlers);
        self.context = LintContext { catches_name_error, ..before };
        self.visit_body(&statement.body);
        self.context = LintContext { is_conditional: true, ..before };
        for ast::ExceptHandler::ExceptHandler(handler) in &statement.handlers {
            self.handle_exception(handler);
        }
        self.visit_body(&statement.orelse);
        self.context = before;
        self.visit_body(&statement.finalbody);
    }

    fn handle_exception(&mut self, handler: &'a ast::ExceptHandlerExceptHandler) {
        structural_rules::bare_except(handler, &mut self.findings);
        if let Some(exception) = &handler.type_ {
            self.visit_expr(exception);
        }
        let Some(name) = &handler.name else { return self.visit_body(&handler.body) };
        self.shadow_builtin(name, name.start(), ClassNameRole::Variable);
        let hidden = self.scopes.begin_exception(name, name.start());
        self.visit_body(&handler.body);
        self.scopes.end_exception(name, name.start(), hidden);
    }

    pub(super) fn delete(&mut self, statement: &'a ast::StmtDelete) {
        for target in &statement.targets {
            self.delete_target(target);
        }
    }

    fn delete_target(&mut self, target: &'a Expr) {
        match target {
            Expr::Name(name) => {
                if !self.scopes.resolve_deletion(&name.id) && !self.context.catches_name_error {
                    self.unresolved.push((name.id.to_string(), name.start()));
                }
                if !self.context.is_conditional {
                    self.scopes.bind(&name.id, name.start(), BindingKind::Deletion);
                }
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.delete_target(element)),
            Expr::List(list) => list.elts.iter().for_each(|element| self.delete_target(element)),
            _ => self.visit_expr(target),
        }
    }

    pub(super) fn bind_pattern(&mut self, pattern: &'a ast::Pattern) {
        let name = match pattern {
            ast::Pattern::MatchAs(capture) => capture.name.as_ref(),
            ast::Pattern::MatchStar(star) => star.name.as_ref(),
            ast::Pattern::MatchMapping(mapping) => mapping.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.scopes.bind(name, name.start(), BindingKind::Assignment);
        }
    }

    /// Binds the names in the target of an assignment; other expressions in it are read.
    pub(super) fn bind_target(&mut self, target: &'a Expr, kind: BindingKind<'a>, in_class: ClassNameRole) {
        match target {
            Expr::Name(name) => {
                self.shadow_builtin(&name.id, name.start(), in_class);
                self.scopes.bind(&name.id, name.start(), kind);
            }
            Expr::Tuple(tuple) => {
                for element in &tuple.elts {
                    self.bind_target(element, kind, in_class);
                }
            }
            Expr::List(list) => {
                for element in &list.elts {
                    self.bind_target(element, kind, in_class);
                }
            }
            Expr::Starred(starred) => self.bind_target(&starred.value, kind, in_class),
            _ => self.visit_expr(target),
        }
    }

    pub(super) fn shadow_builtin(&mut self, name: &'a str, offset: TextSize, in_class: ClassNameRole) {
        let is_attribute =
            in_class == ClassNameRole::Attribute && self.scopes.current_kind() == ScopeKind::Class;
        if !is_attribute && builtins::is_hidden_by_assignment(name) {
            self.findings.add(LintRule::ShadowedBuiltin, offset, name);
        }
    }
}

fn is_sequence(expression: &Expr) -> bool {
    matches!(expression, Expr::Tuple(_) | Expr::List(_) | Expr::Set(_))
}

fn catches_name_error(handlers: &[ast::ExceptHandler]) -> bool {
    let is_name_error = |exception: &Expr| matches!(exception, Expr::Name(name) if name.id == "NameError");
    handlers.iter().any(|ast::ExceptHandler::ExceptHandler(handler)| match handler.type_.as_deref() {
        Some(Expr::Tuple(tuple)) => tuple.elts.iter().any(is_name_error),
        Some(exception) => is_name_error(exception),
        None => false,
    })
}
