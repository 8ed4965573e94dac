//! Visitor of the walk: evidence from each statement and expression about the function around it.

use menace_model::inventory::{ParameterUse, SideEffect};

use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Stmt, ast};

use super::collect::{SectionCollector, StatementContext};
use super::frame::FunctionFrame;
use super::parameter_uses::{record_use, record_uses};

impl<'a> Visitor<'a> for SectionCollector<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(node) => {
                self.visit_head(node);
                return self.function(node);
            }
            Stmt::ClassDef(node) => {
                node.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                node.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                return self.class(node);
            }
            Stmt::Import(node) => return self.names.import(self.source, node, self.import_kind()),
            Stmt::ImportFrom(node) => return self.names.import_from(self.source, node, self.import_kind()),
            Stmt::If(node) => return self.branch(node),
            Stmt::Try(_) => return self.conditionally(|collector| visitor::walk_stmt(collector, statement)),
            Stmt::For(node) => record_use(&mut self.frames, &node.iter, || ParameterUse::Iterated),
            Stmt::With(node) => {
                for item in &node.items {
                    record_use(&mut self.frames, &item.context_expr, || ParameterUse::Entered);
                }
            }
            Stmt::Match(node) => self.match_cases(node),
            Stmt::Global(node) => {
                self.effect(SideEffect::GlobalState);
                node.names.iter().for_each(|name| self.frame().declare_global(name.as_str()));
            }
            Stmt::AnnAssign(node) => self.assignment(&node.target),
            Stmt::Assign(node) => node.targets.iter().for_each(|target| self.assignment(target)),
            Stmt::AugAssign(node) => {
                for side in [&*node.target, &*node.value] {
                    record_use(&mut self.frames, side, || ParameterUse::Operand(node.op.as_str().to_owned()));
                }
                self.assignment(&node.target);
            }
            Stmt::Delete(node) => node.targets.iter().for_each(|target| self.assignment(target)),
            _ => {}
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        record_uses(self.source, expression, &mut self.frames);
        match expression {
            Expr::Call(node) => return self.call(node),
            Expr::Attribute(node) => self.environment(node.attr.as_str(), expression),
            Expr::Name(node) => self.environment(node.id.as_str(), expression),
            Expr::StringLiteral(node) => self.string(node.value.to_str()),
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                // A `yield` in a lambda makes the lambda a generator, not the function around it.
                if let Some(frame) = self.frames.last_mut() {
                    frame.is_generator = true;
                }
            }
            Expr::Lambda(node) => {
                let names = node.parameters.iter().flat_map(|parameters| parameters.iter());
                let names = names.map(|parameter| parameter.name().as_str()).collect();
                return self.visit_in_shadow_frame(names, expression);
            }
            Expr::ListComp(node) => return self.visit_in_shadow_frame(targets(&node.generators), expression),
            Expr::SetComp(node) => return self.visit_in_shadow_frame(targets(&node.generators), expression),
            Expr::DictComp(node) => return self.visit_in_shadow_frame(targets(&node.generators), expression),
            Expr::Generator(node) => {
                return self.visit_in_shadow_frame(targets(&node.generators), expression);
            }
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        record_use(&mut self.frames, &comprehension.iter, || ParameterUse::Iterated);
        visitor::walk_comprehension(self, comprehension);
    }
}

impl<'a> SectionCollector<'a> {
    /// Decorators, defaults and annotations are evaluated outside the function.
    fn visit_head(&mut self, node: &'a ast::StmtFunctionDef) {
        node.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        self.visit_parameters(&node.parameters);
        node.returns.iter().for_each(|returns| self.visit_annotation(returns));
    }

    /// Frame of the current function; effects of a lambda or a comprehension count for the function around it.
    pub(super) fn frame(&mut self) -> &mut FunctionFrame<'a> {
        let functions = self.frames.iter_mut().rev().filter(|frame| !frame.is_shadow());
        functions.into_iter().next().expect("the module's own frame stays until the walk ends")
    }

    /// Walks an expression whose own names hide outer ones.
    fn visit_in_shadow_frame(&mut self, names: Vec<&'a str>, expression: &'a Expr) {
        self.frames.push(FunctionFrame::shadow(names));
        visitor::walk_expr(self, expression);
        self.frames.pop();
    }

    pub(super) fn effect(&mut self, effect: SideEffect) {
        self.frame().add_effect(effect);
    }

    fn conditionally(&mut self, visit: impl FnOnce(&mut Self)) {
        self.in_context(StatementContext { conditional: true, ..self.context }, visit);
    }

    fn in_context(&mut self, context: StatementContext, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.context, context);
        visit(self);
        self.context = outer;
    }

    fn branch(&mut self, node: &'a ast::StmtIf) {
        self.has_main_guard |= is_main_guard(&node.test);
        self.visit_expr(&node.test);
        let checking = type_checking(&node.test);
        let context = |collector: &Self, here: bool| StatementContext {
            conditional: true,
            type_checking: collector.context.type_checking || here,
        };
        let body = context(self, checking == Some(true));
        self.in_context(body, |collector| collector.visit_body(&node.body));
        for clause in &node.elif_else_clauses {
            let clause_checks =
                checking == Some(false) || clause.test.as_ref().and_then(type_checking) == Some(true);
            let clause_context = context(self, clause_checks);
            self.in_context(clause_context, |collector| visitor::walk_elif_else_clause(collector, clause));
        }
    }

    fn string(&mut self, text: &'a str) {
        if could_name_a_module(text) {
            self.dotted_strings.insert(text);
        }
    }
}

/// Whether a string has the form `pkg.module` or `pkg.module:attribute`.
fn could_name_a_module(text: &str) -> bool {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':');
    (3..=120).contains(&text.len())
        && text.bytes().all(is_name_byte)
        && text.bytes().any(|byte| matches!(byte, b'.' | b':'))
        && text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
}

/// `TYPE_CHECKING` or `typing.TYPE_CHECKING` is `Some(true)`, its negation `Some(false)`.
fn type_checking(condition: &Expr) -> Option<bool> {
    match condition {
        Expr::Name(node) => (node.id.as_str() == "TYPE_CHECKING").then_some(true),
        Expr::Attribute(node) => (node.attr.as_str() == "TYPE_CHECKING").then_some(true),
        Expr::UnaryOp(node) if node.op == ast::UnaryOp::Not => type_checking(&node.operand).map(|it| !it),
        _ => None,
    }
}

/// Names that a comprehension binds.
fn targets(generators: &[ast::Comprehension]) -> Vec<&str> {
    let mut names = Vec::new();
    for generator in generators {
        match &generator.target {
            Expr::Name(node) => names.push(node.id.as_str()),
            Expr::Tuple(node) => {
                names.extend(node.elts.iter().filter_map(Expr::as_name_expr).map(|name| name.id.as_str()));
            }
            _ => {}
        }
    }
    names
}

/// `__name__ == "__main__"`, either way round.
fn is_main_guard(condition: &Expr) -> bool {
    let Expr::Compare(node) = condition else { return false };
    let sides = [&*node.left, node.comparators.first().unwrap_or(&node.left)];
    let is_name = |side: &&Expr| matches!(side, Expr::Name(name) if name.id.as_str() == "__name__");
    let is_main =
        |side: &&Expr| matches!(side, Expr::StringLiteral(text) if text.value.to_str() == "__main__");
    sides.iter().any(is_name) && sides.iter().any(is_main)
}
