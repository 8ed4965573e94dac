//! Side effects of a function: calls with effects, dynamic imports, writes to module variables.

use menace_model::inventory::SideEffect;

use crate::syntax::visitor::Visitor;
use crate::syntax::{Expr, ast};

use super::collect::SectionCollector;
use super::effect_rules::{effect_of_builtin, effect_of_method, effect_of_name, is_mutating_method};
use super::imports::{CalleeOrigin, root_name};

impl<'a> SectionCollector<'a> {
    pub(super) fn call(&mut self, node: &'a ast::ExprCall) {
        match self.names.call(&node.func) {
            CalleeOrigin::Outside(name) => {
                match effect_of_name(&name) {
                    Some(effect) => self.effect(effect),
                    None => self.unresolved_call(node),
                }
                if name == "importlib.import_module" {
                    self.dynamic_import(node);
                }
            }
            CalleeOrigin::Imported | CalleeOrigin::Unknown => self.unresolved_call(node),
        }
        // The last attribute of the callee was recorded as a method; the rest of it may contain further uses.
        match &*node.func {
            Expr::Attribute(callee) => self.visit_expr(&callee.value),
            callee => self.visit_expr(callee),
        }
        self.visit_arguments(&node.arguments);
    }

    fn unresolved_call(&mut self, node: &'a ast::ExprCall) {
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
                } else if self.is_in_function() && is_mutating_method(callee.attr.as_str()) {
                    self.record_global_write(&callee.value);
                }
            }
            _ => {}
        }
    }

    /// Records a dynamic import. A relative name counts only if the call also passes its package.
    fn dynamic_import(&mut self, node: &ast::ExprCall) {
        let Some(Expr::StringLiteral(module)) = node.arguments.find_argument_value("name", 0) else { return };
        let line = self.source.first_line(node);
        let module = module.value.to_str();
        if !module.starts_with('.') {
            return self.names.dynamic(module, line);
        }
        match node.arguments.find_argument_value("package", 1) {
            Some(Expr::StringLiteral(package)) => {
                if let Some(absolute) = absolute_name(module, package.value.to_str()) {
                    self.names.dynamic(&absolute, line);
                }
            }
            // In a module that is not a package, `__name__` would fail, so it can be treated as `__package__`.
            Some(Expr::Name(package)) if matches!(package.id.as_str(), "__package__" | "__name__") => {
                self.names.dynamic(module, line);
            }
            _ => {}
        }
    }

    /// `os.environ`, and `environ` after `from os import environ`, have their effect without being called.
    pub(super) fn environment(&mut self, name: &str, expression: &Expr) {
        if name.starts_with("environ")
            && self
                .names
                .outside_name(expression)
                .is_some_and(|qualified| qualified.starts_with("os.environ"))
        {
            self.effect(SideEffect::Environment);
        }
    }

    /// Records a write to an attribute or an item of a module variable from inside a function.
    pub(super) fn assignment(&mut self, target: &'a Expr) {
        if !self.is_in_function() {
            return;
        }
        if let Expr::Name(name) = target {
            self.frame().assign(name.id.as_str());
        }
        if matches!(target, Expr::Attribute(_) | Expr::Subscript(_)) {
            self.record_global_write(target);
        }
    }

    fn record_global_write(&mut self, target: &Expr) {
        let Some(name) = root_name(target) else { return };
        let is_parameter = self.frames.iter().any(|frame| frame.parameter(name).is_some());
        if !is_parameter && self.module_variables.contains(name) && !self.frame().assigns(name) {
            self.effect(SideEffect::GlobalState);
        }
    }
}

/// `..money` relative to `shop.plugins` is `shop.money`.
fn absolute_name(relative: &str, package: &str) -> Option<String> {
    let rest = relative.trim_start_matches('.');
    let levels_up = relative.len() - rest.len() - 1;
    let mut parts: Vec<&str> = package.split('.').collect();
    if levels_up >= parts.len() {
        return None;
    }
    parts.truncate(parts.len() - levels_up);
    parts.push(rest);
    Some(parts.join("."))
}
