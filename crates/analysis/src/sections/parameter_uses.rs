//! Uses of a parameter by expressions: evidence from which the stub generator derives fitting inputs.

use menace_model::inventory::ParameterUse;

use crate::syntax::{Expr, ParsedPythonSource, Ranged, ast};

use super::frame::FunctionFrame;
use super::signature::excerpt;

/// Records the uses of plain names by an expression itself, not by its subexpressions.
pub(super) fn record_uses(source: &ParsedPythonSource, expression: &Expr, frames: &mut [FunctionFrame<'_>]) {
    match expression {
        Expr::Call(node) => call(source, node, frames),
        Expr::Attribute(node) => {
            record_use(frames, &node.value, || ParameterUse::Attribute(node.attr.to_string()));
        }
        Expr::Subscript(node) => record_use(frames, &node.value, || match constant(source, &node.slice) {
            Some(key) => ParameterUse::Key(key),
            None => ParameterUse::Indexed,
        }),
        Expr::Compare(node) => comparison(source, node, frames),
        Expr::BinOp(node) => {
            for side in [&node.left, &node.right] {
                record_use(frames, side, || ParameterUse::Operand(node.op.as_str().to_owned()));
            }
        }
        Expr::Starred(node) => record_use(frames, &node.value, || ParameterUse::Iterated),
        Expr::Await(node) => record_use(frames, &node.value, || ParameterUse::Awaited),
        Expr::YieldFrom(node) => record_use(frames, &node.value, || ParameterUse::Iterated),
        _ => {}
    }
}

fn call(source: &ParsedPythonSource, node: &ast::ExprCall, frames: &mut [FunctionFrame<'_>]) {
    match &*node.func {
        Expr::Name(_) => record_use(frames, &node.func, || ParameterUse::Called),
        Expr::Attribute(method) => method_call(source, node, method, frames),
        _ => {}
    }
    if let (Expr::Name(callee), [subject, class]) = (&*node.func, &*node.arguments.args)
        && callee.id.as_str() == "isinstance"
    {
        record_use(frames, subject, || ParameterUse::Instance(excerpt(source, class)));
        return;
    }
    let values =
        node.arguments.args.iter().chain(node.arguments.keywords.iter().map(|keyword| &keyword.value));
    for value in values {
        record_use(frames, value, || ParameterUse::Passed(excerpt(source, &*node.func)));
    }
}

fn method_call(
    source: &ParsedPythonSource,
    node: &ast::ExprCall,
    method: &ast::ExprAttribute,
    frames: &mut [FunctionFrame<'_>],
) {
    record_use(frames, &method.value, || {
        let reads_key = matches!(method.attr.as_str(), "get" | "pop" | "setdefault");
        match node.arguments.args.first().and_then(|first| constant(source, first)) {
            Some(key) if reads_key => ParameterUse::Key(key),
            _ => ParameterUse::Method(method.attr.to_string()),
        }
    });
}

fn comparison(source: &ParsedPythonSource, node: &ast::ExprCompare, frames: &mut [FunctionFrame<'_>]) {
    let sides = std::iter::once(&*node.left).chain(&node.comparators);
    for ((left, right), op) in sides.zip(&node.comparators).zip(&node.ops) {
        if matches!(op, ast::CmpOp::In | ast::CmpOp::NotIn) {
            membership(source, left, right, frames);
        } else {
            record_constant(source, left, right, frames);
            record_constant(source, right, left, frames);
        }
    }
}

/// `p in ("a", "b")` compares with each; `"key" in p` reads a key.
fn membership(source: &ParsedPythonSource, left: &Expr, right: &Expr, frames: &mut [FunctionFrame<'_>]) {
    let elements: &[Expr] = match right {
        Expr::Tuple(node) => &node.elts,
        Expr::List(node) => &node.elts,
        Expr::Set(node) => &node.elts,
        _ => &[],
    };
    for element in elements {
        record_constant(source, left, element, frames);
    }
    if let Some(key) = constant(source, left) {
        record_use(frames, right, || ParameterUse::Key(key));
    }
}

fn record_constant(
    source: &ParsedPythonSource,
    variable: &Expr,
    other: &Expr,
    frames: &mut [FunctionFrame<'_>],
) {
    if let (Expr::Name(_), Some(value)) = (variable, constant(source, other)) {
        record_use(frames, variable, || ParameterUse::Compared(value));
    }
}

/// Records a use, if the expression is the name of a parameter of the innermost function that has one of that name.
pub(super) fn record_use(
    frames: &mut [FunctionFrame<'_>],
    expression: &Expr,
    used: impl FnOnce() -> ParameterUse,
) {
    let Expr::Name(name) = expression else { return };
    for frame in frames.iter_mut().rev() {
        if let Some(parameter) = frame.parameter(name.id.as_str()) {
            if frame.wants(parameter) {
                frame.add_use(parameter, used());
            }
            return;
        }
    }
}

/// The source of a constant, signs included.
pub(super) fn constant(source: &ParsedPythonSource, expression: &Expr) -> Option<String> {
    let is_constant = match expression {
        Expr::UnaryOp(node) => matches!(*node.operand, Expr::NumberLiteral(_)),
        other => other.is_literal_expr(),
    };
    (is_constant && expression.range().len() < 100.into()).then(|| excerpt(source, expression))
}
