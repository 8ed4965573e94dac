//! Expressions that open scopes, bind names, or turn strings into types.

use super::binding::BindingKind;
use super::check::{DeferredCode, LintChecker, StringMeaning};
use super::origin::SubscriptForm;
use super::scope::ScopeKind;
use super::statement::ClassNameRole;
use crate::syntax::visitor::{self, Visitor};
use crate::syntax::{Expr, Ranged, ast};

impl<'a> LintChecker<'a> {
    pub(super) fn lambda(&mut self, lambda: &'a ast::ExprLambda) {
        let parameters =
            lambda.parameters.iter().flat_map(|parameters| parameters.iter_non_variadic_params());
        for default in parameters.filter_map(|parameter| parameter.default.as_deref()) {
            self.visit_expr(default);
        }
        self.defer(DeferredCode::Lambda(lambda));
    }

    /// The first iterable is evaluated in the enclosing scope; the rest has a scope of its own.
    pub(super) fn comprehension(
        &mut self,
        generators: &'a [ast::Comprehension],
        key: Option<&'a Expr>,
        value: &'a Expr,
    ) {
        let Some((first, rest)) = generators.split_first() else { return self.visit_expr(value) };
        self.visit_expr(&first.iter);
        let outside = self.scopes.enter(ScopeKind::Comprehension);
        self.bind_generator(first);
        for generator in rest {
            self.visit_expr(&generator.iter);
            self.bind_generator(generator);
        }
        if let Some(key) = key {
            self.visit_expr(key);
        }
        self.visit_expr(value);
        self.scopes.go_to(outside);
    }

    fn bind_generator(&mut self, generator: &'a ast::Comprehension) {
        self.bind_target(&generator.target, BindingKind::Definition, ClassNameRole::Variable);
        for condition in &generator.ifs {
            self.visit_expr(condition);
        }
    }

    pub(super) fn assign_named(&mut self, named: &'a ast::ExprNamed) {
        self.visit_expr(&named.value);
        match &*named.target {
            Expr::Name(name) => {
                self.shadow_builtin(&name.id, name.start(), ClassNameRole::Variable);
                self.scopes.bind_outside_comprehensions(&name.id, name.start());
            }
            target => self.visit_expr(target),
        }
    }

    pub(super) fn call(&mut self, call: &'a ast::ExprCall) {
        self.visit_expr(&call.func);
        match self.typing_call(&call.func) {
            Some(function) => self.typing_arguments(function, &call.arguments),
            None if self.context.strings == StringMeaning::Annotations => {
                let before = std::mem::replace(&mut self.context.strings, StringMeaning::Values);
                self.visit_arguments(&call.arguments);
                self.context.strings = before;
            }
            None => self.visit_arguments(&call.arguments),
        }
    }

    /// Name of the function, if it takes types as arguments. Also records calls of `locals()`.
    fn typing_call(&mut self, function: &'a Expr) -> Option<&'a str> {
        let name = match function {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => return None,
        };
        match name {
            "cast" | "TypeVar" | "NewType" | "NamedTuple" | "TypedDict" => {
                self.scopes.origin(function)?.is(name).then_some(name)
            }
            "locals" if function.is_name_expr() => {
                self.scopes.call_locals();
                None
            }
            _ => None,
        }
    }

    fn typing_arguments(&mut self, function: &str, arguments: &'a ast::Arguments) {
        for (position, argument) in arguments.args.iter().enumerate() {
            match (function, position) {
                ("NamedTuple", 1) => self.visit_fields(argument),
                ("TypedDict", 1) => self.visit_typed_dict(argument),
                ("cast", 0) | ("NewType" | "TypeVar", 1..) => {
                    self.visit_with_strings(StringMeaning::Annotations, argument);
                }
                _ => self.visit_with_strings(StringMeaning::Values, argument),
            }
        }
        for keyword in &arguments.keywords {
            let name = keyword.arg.as_ref().map_or("", |name| name.as_str());
            let is_type = match function {
                "cast" => name == "typ",
                "TypeVar" => matches!(name, "bound" | "default"),
                "NewType" => name == "tp",
                _ => name != "total",
            };
            let strings = if is_type { StringMeaning::Annotations } else { StringMeaning::Values };
            self.visit_with_strings(strings, &keyword.value);
        }
    }

    /// `[("name", type), …]`
    fn visit_fields(&mut self, fields: &'a Expr) {
        let (Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. })) = fields
        else {
            return self.visit_expr(fields);
        };
        for field in elts {
            match field {
                Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. })
                    if elts.len() == 2 =>
                {
                    self.visit_with_strings(StringMeaning::Values, &elts[0]);
                    self.visit_with_strings(StringMeaning::Annotations, &elts[1]);
                }
                _ => self.visit_expr(field),
            }
        }
    }

    /// `{"name": type, …}`
    fn visit_typed_dict(&mut self, fields: &'a Expr) {
        let Expr::Dict(dict) = fields else { return self.visit_expr(fields) };
        for item in &dict.items {
            if let Some(key) = &item.key {
                self.visit_with_strings(StringMeaning::Values, key);
            }
            self.visit_with_strings(StringMeaning::Annotations, &item.value);
        }
    }

    pub(super) fn subscript(&mut self, subscript: &'a ast::ExprSubscript) {
        self.visit_expr(&subscript.value);
        match self.scopes.form(subscript) {
            SubscriptForm::Literal => self.visit_with_strings(StringMeaning::Values, &subscript.slice),
            SubscriptForm::Generic => self.visit_with_strings(StringMeaning::Annotations, &subscript.slice),
            SubscriptForm::Annotated => self.annotated(&subscript.slice),
            SubscriptForm::Other => self.visit_expr(&subscript.slice),
        }
    }

    /// `Annotated[type, metadata, …]`
    fn annotated(&mut self, slice: &'a Expr) {
        let Expr::Tuple(tuple) = slice else { return self.visit_expr(slice) };
        for (position, element) in tuple.elts.iter().enumerate() {
            let strings = if position == 0 { StringMeaning::Annotations } else { StringMeaning::Values };
            self.visit_with_strings(strings, element);
        }
    }

    /// Visits the inside of a formatted string, where strings are values.
    pub(super) fn visit_values(&mut self, expression: &'a Expr) {
        let before = std::mem::replace(&mut self.context.strings, StringMeaning::Values);
        visitor::walk_expr(self, expression);
        self.context.strings = before;
    }
}
