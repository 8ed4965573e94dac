//! Queries on the Python syntax tree.

use crate::editable_source::{EditableSource, PythonFunction};
use crate::syntax::visitor::{Visitor, walk_expr, walk_stmt};
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// Parameters without `self`, `cls` and those that take any number of values.
pub(in crate::transforms) fn parameters(function: PythonFunction<'_>) -> Vec<&ast::ParameterWithDefault> {
    let is_static = function.node.decorator_list.iter().any(
        |decorator| matches!(&decorator.expression, Expr::Name(name) if name.id.as_str() == "staticmethod"),
    );
    let skipped = usize::from(function.class.is_some() && !is_static);
    function.node.parameters.iter_non_variadic_params().skip(skipped).collect()
}

/// First name of a path: `a` in `a`, `a.b` and `a.b.c`.
pub(in crate::transforms) fn root_of(path: &Expr) -> Option<&str> {
    match path {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => root_of(&attribute.value),
        _ => None,
    }
}

/// Path as shown in a message, without `self.`.
pub(in crate::transforms) fn path_in_message<'a>(source: &'a EditableSource, path: &Expr) -> &'a str {
    let text = source.of(path);
    text.strip_prefix("self.").unwrap_or(text)
}

/// Dotted name of the callee, such as `math.sqrt`.
pub(in crate::transforms) fn callee<'a>(source: &'a EditableSource, call: &ast::ExprCall) -> Option<&'a str> {
    root_of(&call.func).map(|_| source.of(&*call.func))
}

/// Python string literal with double quotes.
pub(in crate::transforms) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Whether an expression can be evaluated twice without side effects.
pub(in crate::transforms) fn is_pure(expr: &Expr) -> bool {
    match expr {
        Expr::Name(_) | Expr::NumberLiteral(_) => true,
        Expr::Attribute(attribute) => is_pure(&attribute.value),
        Expr::BinOp(operation) => is_pure(&operation.left) && is_pure(&operation.right),
        Expr::UnaryOp(operation) => is_pure(&operation.operand),
        Expr::Call(call) => {
            matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(), "len" | "abs" | "float" | "min" | "max"))
                && call.arguments.keywords.is_empty()
                && call.arguments.args.iter().all(is_pure)
        }
        _ => false,
    }
}

/// Names that statements use or bind.
pub(in crate::transforms) fn names_in(body: &[Stmt]) -> Vec<&str> {
    struct NameCollector<'a>(Vec<&'a str>);
    impl<'a> Visitor<'a> for NameCollector<'a> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Name(name) = expr {
                self.0.push(name.id.as_str());
            }
            walk_expr(self, expr);
        }
        fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
            let ast::ExceptHandler::ExceptHandler(inner) = handler;
            self.0.extend(inner.name.as_ref().map(ast::Identifier::as_str));
            crate::syntax::visitor::walk_except_handler(self, handler);
        }
    }
    let mut names = NameCollector(Vec::new());
    names.visit_body(body);
    names.0
}

/// All expressions of statements, including nested statements.
pub(in crate::transforms) fn expressions(body: &[Stmt]) -> Vec<&Expr> {
    struct ExprCollector<'a>(Vec<&'a Expr>);
    impl<'a> Visitor<'a> for ExprCollector<'a> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.0.push(expr);
            walk_expr(self, expr);
        }
    }
    let mut all = ExprCollector(Vec::new());
    all.visit_body(body);
    all.0
}

/// All statements, including nested ones.
pub(in crate::transforms) fn statements(body: &[Stmt]) -> Vec<&Stmt> {
    struct StmtCollector<'a>(Vec<&'a Stmt>);
    impl<'a> Visitor<'a> for StmtCollector<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            self.0.push(statement);
            walk_stmt(self, statement);
        }
    }
    let mut all = StmtCollector(Vec::new());
    all.visit_body(body);
    all.0
}

/// Whether a statement contains no other statements.
pub(in crate::transforms) fn is_simple(statement: &Stmt) -> bool {
    !matches!(
        statement,
        Stmt::If(_)
            | Stmt::For(_)
            | Stmt::While(_)
            | Stmt::With(_)
            | Stmt::Try(_)
            | Stmt::Match(_)
            | Stmt::FunctionDef(_)
            | Stmt::ClassDef(_)
    )
}

/// Whether a statement has its lines to itself, with spaces as indentation and LF line endings.
pub(in crate::transforms) fn is_alone(source: &EditableSource, statement: &Stmt) -> bool {
    let text = source.text();
    let start = statement.start().to_usize();
    let before = &text[text[..start].rfind('\n').map_or(0, |at| at + 1)..start];
    let rest = text[statement.end().to_usize()..].lines().next().unwrap_or_default().trim_start();
    let ends = !is_simple(statement) || rest.is_empty() || rest.starts_with('#');
    before.bytes().all(|byte| byte == b' ') && ends && !text.contains('\r')
}
