//! The walk itself: what each statement and expression tells about the function around it.

use menace_model::inventory::{Effect, ParameterUse};

use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Stmt, ast};

use super::collect::{Collector, Context};
use super::effects::{effect_of_builtin, effect_of_method, effect_of_name, is_mutating_method};
use super::frame::Frame;
use super::imports::root_name;
use super::uses::{constant, note, note_uses};

impl<'a> Visitor<'a> for Collector<'a> {
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
            Stmt::For(node) => note(&mut self.frames, &node.iter, || ParameterUse::Iterated),
            Stmt::With(node) => {
                for item in &node.items {
                    note(&mut self.frames, &item.context_expr, || ParameterUse::Entered);
                }
            }
            Stmt::Match(node) => self.match_cases(node),
            Stmt::Global(_) => self.effect(Effect::GlobalState),
            Stmt::Assign(node) => node.targets.iter().for_each(|target| self.assignment(target)),
            Stmt::AugAssign(node) => self.assignment(&node.target),
            Stmt::Delete(node) => node.targets.iter().for_each(|target| self.assignment(target)),
            _ => {}
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        note_uses(self.source, expression, &mut self.frames);
        match expression {
            Expr::Call(node) => return self.call(node),
            Expr::Attribute(_) => return self.attribute(expression),
            Expr::StringLiteral(node) => self.string(node.value.to_str()),
            Expr::Yield(_) | Expr::YieldFrom(_) => self.frame().is_generator = true,
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        note(&mut self.frames, &comprehension.iter, || ParameterUse::Iterated);
        visitor::walk_comprehension(self, comprehension);
    }
}

impl<'a> Collector<'a> {
    /// Decorators, defaults and annotations are evaluated outside the function.
    fn visit_head(&mut self, node: &'a ast::StmtFunctionDef) {
        node.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
        self.visit_parameters(&node.parameters);
        node.returns.iter().for_each(|returns| self.visit_annotation(returns));
    }

    fn frame(&mut self) -> &mut Frame<'a> {
        self.frames.last_mut().expect("the module's own frame stays until the walk ends")
    }

    fn effect(&mut self, effect: Effect) {
        self.frame().add_effect(effect);
    }

    fn conditionally(&mut self, visit: impl FnOnce(&mut Self)) {
        self.in_context(Context { conditional: true, ..self.context }, visit);
    }

    fn in_context(&mut self, context: Context, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.context, context);
        visit(self);
        self.context = outer;
    }

    fn branch(&mut self, node: &'a ast::StmtIf) {
        self.has_main_guard |= is_main_guard(&node.test);
        self.visit_expr(&node.test);
        let mut context = Context { conditional: true, ..self.context };
        context.type_checking |= is_type_checking(&node.test);
        self.in_context(context, |collector| collector.visit_body(&node.body));
        for clause in &node.elif_else_clauses {
            self.conditionally(|collector| visitor::walk_elif_else_clause(collector, clause));
        }
    }

    fn match_cases(&mut self, node: &'a ast::StmtMatch) {
        for case in &node.cases {
            if let ast::Pattern::MatchValue(pattern) = &case.pattern
                && let Some(value) = constant(self.source, &pattern.value)
            {
                note(&mut self.frames, &node.subject, || ParameterUse::Compared(value));
            }
        }
    }

    /// Writing to an attribute or an item of a module variable, from inside a function.
    fn assignment(&mut self, target: &Expr) {
        if self.frames.len() > 1 && matches!(target, Expr::Attribute(_) | Expr::Subscript(_)) {
            self.note_global_write(target);
        }
    }

    fn note_global_write(&mut self, target: &Expr) {
        let Some(name) = root_name(target) else { return };
        let is_parameter = self.frames.iter().any(|frame| frame.parameter(name).is_some());
        if !is_parameter && self.module_variables.contains(name) {
            self.effect(Effect::GlobalState);
        }
    }

    fn call(&mut self, node: &'a ast::ExprCall) {
        self.names.count_call(&node.func);
        match self.names.qualified(&node.func) {
            Some(name) => {
                if let Some(effect) = effect_of_name(&name) {
                    self.effect(effect);
                }
                if name == "importlib.import_module" {
                    self.dynamic_import(node);
                }
            }
            None => self.call_of_unknown(node),
        }
        // The callee's last attribute has been noted as a method; what is left of it may hold more.
        match &*node.func {
            Expr::Attribute(callee) => self.visit_expr(&callee.value),
            callee => self.visit_expr(callee),
        }
        self.visit_arguments(&node.arguments);
    }

    fn call_of_unknown(&mut self, node: &'a ast::ExprCall) {
        match &*node.func {
            Expr::Name(callee) => {
                if callee.id.as_str() == "__import__" {
                    self.dynamic_import(node);
                } else if let Some(effect) = effect_of_builtin(callee.id.as_str()) {
                    self.effect(effect);
                }
            }
            Expr::Attribute(callee) => {
                if let Some(effect) = effect_of_method(callee.attr.as_str()) {
                    self.effect(effect);
                } else if self.frames.len() > 1 && is_mutating_method(callee.attr.as_str()) {
                    self.note_global_write(&callee.value);
                }
            }
            _ => {}
        }
    }

    /// A relative name counts only where the package it is relative to is written beside it.
    fn dynamic_import(&mut self, node: &ast::ExprCall) {
        let Some(Expr::StringLiteral(module)) = node.arguments.args.first() else { return };
        let line = self.source.first_line(node);
        let module = module.value.to_str();
        if !module.starts_with('.') {
            return self.names.dynamic(module, line);
        }
        match node.arguments.find_argument_value("package", 1) {
            Some(Expr::StringLiteral(package)) if !module.starts_with("..") => {
                self.names.dynamic(&format!("{}{module}", package.value.to_str()), line);
            }
            Some(Expr::Name(package)) if package.id.as_str() == "__package__" => {
                self.names.dynamic(module, line);
            }
            _ => {}
        }
    }

    /// `os.environ` has its effect without being called.
    fn attribute(&mut self, expression: &'a Expr) {
        if let Some(name) = self.names.qualified(expression) {
            if name.starts_with("os.environ") {
                self.effect(Effect::Environment);
            }
        } else if let Expr::Attribute(node) = expression {
            self.visit_expr(&node.value);
        }
    }

    fn string(&mut self, text: &'a str) {
        if could_name_a_module(text) {
            self.dotted_strings.insert(text);
        }
    }
}

/// `pkg.module` or `pkg.module:attribute`.
fn could_name_a_module(text: &str) -> bool {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':');
    (3..=120).contains(&text.len())
        && text.bytes().all(is_name_byte)
        && text.bytes().any(|byte| matches!(byte, b'.' | b':'))
        && text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
}

/// `TYPE_CHECKING` or `typing.TYPE_CHECKING`.
fn is_type_checking(test: &Expr) -> bool {
    match test {
        Expr::Name(node) => node.id.as_str() == "TYPE_CHECKING",
        Expr::Attribute(node) => node.attr.as_str() == "TYPE_CHECKING",
        _ => false,
    }
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
