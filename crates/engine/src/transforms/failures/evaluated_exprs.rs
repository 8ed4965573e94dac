//! Expressions of a statement, and whether they are evaluated every time.

use super::syntax_queries::is_simple;
use crate::editable_source::EditableSource;
use crate::syntax::visitor::{Visitor, walk_expr, walk_stmt};
use crate::syntax::{Expr, Stmt, ast};

/// An expression of the failing statement.
#[derive(Clone, Copy)]
pub(in crate::transforms) struct EvaluatedExpr<'a> {
    /// Expression.
    pub(in crate::transforms) expr: &'a Expr,
    /// Whether it is evaluated in every execution of the statement, with names of the function only.
    pub(in crate::transforms) always: bool,
}

/// Expressions of the statement at a line; `None` if the line is another part of the statement.
pub(in crate::transforms) fn parts_at<'a>(
    source: &EditableSource,
    statement: &'a Stmt,
    line: u32,
) -> Option<Vec<EvaluatedExpr<'a>>> {
    let mut collect = EvaluatedExprCollector { parts: Vec::new(), depth: 0 };
    match statement {
        Stmt::If(branch) if source.is_in(line, &*branch.test) => collect.visit_expr(&branch.test),
        Stmt::For(each) if source.is_in(line, &*each.iter) => collect.visit_expr(&each.iter),
        Stmt::With(with) => {
            for item in with.items.iter().filter(|item| source.is_in(line, &item.context_expr)) {
                collect.visit_expr(&item.context_expr);
            }
        }
        // A raised error is deliberate.
        Stmt::Raise(_) | Stmt::Assert(_) => return None,
        Stmt::Expr(text) if text.value.is_string_literal_expr() => return None,
        simple if is_simple(simple) => walk_stmt(&mut collect, simple),
        _ => return None,
    }
    // A name bound inside the statement has no value before it.
    if collect.parts.iter().any(|part| part.expr.is_named_expr()) {
        collect.parts.iter_mut().for_each(|part| part.always = false);
    }
    (!collect.parts.is_empty()).then_some(collect.parts)
}

struct EvaluatedExprCollector<'a> {
    parts: Vec<EvaluatedExpr<'a>>,
    depth: u32,
}

impl<'a> EvaluatedExprCollector<'a> {
    fn deeper(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        self.depth += 1;
        exprs.into_iter().for_each(|expr| self.visit_expr(expr));
        self.depth -= 1;
    }

    fn comprehension(&mut self, elements: &[&'a Expr], generators: &'a [ast::Comprehension]) {
        if let Some(first) = generators.first() {
            self.visit_expr(&first.iter);
        }
        for (at, generator) in generators.iter().enumerate() {
            self.deeper((at > 0).then_some(&generator.iter).into_iter().chain(&generator.ifs));
        }
        self.deeper(elements.iter().copied());
    }
}

impl<'a> Visitor<'a> for EvaluatedExprCollector<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        self.parts.push(EvaluatedExpr { expr, always: self.depth == 0 });
        match expr {
            Expr::If(choice) => {
                self.visit_expr(&choice.test);
                self.deeper([&*choice.body, &*choice.orelse]);
            }
            Expr::BoolOp(operation) => {
                operation.values.iter().take(1).for_each(|value| self.visit_expr(value));
                self.deeper(operation.values.iter().skip(1));
            }
            Expr::Compare(compare) => {
                self.visit_expr(&compare.left);
                compare.comparators.iter().take(1).for_each(|value| self.visit_expr(value));
                self.deeper(compare.comparators.iter().skip(1));
            }
            Expr::Lambda(lambda) => self.deeper([&*lambda.body]),
            Expr::ListComp(list) => self.comprehension(&[&*list.elt], &list.generators),
            Expr::SetComp(set) => self.comprehension(&[&*set.elt], &set.generators),
            Expr::Generator(generator) => self.comprehension(&[&*generator.elt], &generator.generators),
            Expr::DictComp(dict) => {
                let elements: Vec<&Expr> = dict.key.as_deref().into_iter().chain([&*dict.value]).collect();
                self.comprehension(&elements, &dict.generators);
            }
            _ => walk_expr(self, expr),
        }
    }
}
