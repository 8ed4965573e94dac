//! Structural rules, which need no name resolution.

use menace_model::inventory::LintRule;
use rustc_hash::FxHashSet;

use super::finding::FindingCollector;
use crate::syntax::ast::comparable::HashableExpr;
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// Statements after one that always leaves the block; reported once per block.
pub(super) fn unreachable_code(body: &[Stmt], findings: &mut FindingCollector<'_>) {
    let leaves = |statement: &Stmt| {
        matches!(statement, Stmt::Return(_) | Stmt::Raise(_) | Stmt::Break(_) | Stmt::Continue(_))
    };
    let Some(last) = body.iter().position(leaves) else { return };
    match body.get(last + 1) {
        Some(next) if !makes_generator(next) => findings.add(LintRule::UnreachableCode, next.start(), ""),
        _ => {}
    }
}

/// An unreachable `yield` still makes its function a generator, which is why it is written.
fn makes_generator(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Expr(expression) if matches!(&*expression.value, Expr::Yield(_) | Expr::YieldFrom(_)))
}

/// `except:`, unless its body re-raises the exception.
pub(super) fn bare_except(handler: &ast::ExceptHandlerExceptHandler, findings: &mut FindingCollector<'_>) {
    let reraises = |statement: &Stmt| matches!(statement, Stmt::Raise(raise) if raise.exc.is_none());
    if handler.type_.is_none() && !handler.body.iter().any(reraises) {
        findings.add(LintRule::BareExcept, handler.start(), "");
    }
}

/// `== None`, `== True`, `== False` and the same with `!=`, on either side.
pub(super) fn comparisons(compare: &ast::ExprCompare, findings: &mut FindingCollector<'_>) {
    let is_equality = |operator: &ast::CmpOp| matches!(operator, ast::CmpOp::Eq | ast::CmpOp::NotEq);
    if !compare.ops.iter().any(is_equality) {
        return;
    }
    let mut left = &*compare.left;
    for (position, (operator, right)) in compare.ops.iter().zip(&*compare.comparators).enumerate() {
        if is_equality(operator) {
            if position == 0 {
                compare_singleton(compare, left, right, findings);
            }
            compare_singleton(compare, right, left, findings);
        }
        left = right;
    }
}

fn compare_singleton(
    compare: &ast::ExprCompare,
    side: &Expr,
    other: &Expr,
    findings: &mut FindingCollector<'_>,
) {
    let (rule, offset) = match side {
        Expr::NoneLiteral(_) => (LintRule::NoneComparison, side.start()),
        Expr::BooleanLiteral(_) => (LintRule::BoolComparison, compare.start()),
        _ => return,
    };
    if !is_plain_constant(other) {
        findings.add(rule, offset, "");
    }
}

/// A comparison of two constants is deliberate and not reported.
fn is_plain_constant(expression: &Expr) -> bool {
    match expression {
        Expr::StringLiteral(_)
        | Expr::BytesLiteral(_)
        | Expr::NumberLiteral(_)
        | Expr::EllipsisLiteral(_) => true,
        Expr::Tuple(tuple) => tuple.elts.iter().all(|element| {
            is_plain_constant(element) || matches!(element, Expr::NoneLiteral(_) | Expr::BooleanLiteral(_))
        }),
        _ => false,
    }
}

/// An f-string of one or several parts without a placeholder in any of them.
pub(super) fn empty_f_string(string: &ast::ExprFString, findings: &mut FindingCollector<'_>) {
    if string.value.elements().any(ast::InterpolatedStringElement::is_interpolation) {
        return;
    }
    for part in string.value.f_strings() {
        findings.add(LintRule::EmptyFString, part.start(), "");
    }
}

#[derive(PartialEq, Eq, Hash)]
enum ConstantKey<'a> {
    Text(&'a str),
    Other(HashableExpr<'a>),
}

/// Keys of a dict display that repeat an earlier key.
pub(super) fn duplicate_keys<'a>(dict: &'a ast::ExprDict, findings: &mut FindingCollector<'a>) {
    if dict.items.len() < 2 {
        return;
    }
    let mut seen = FxHashSet::with_capacity_and_hasher(dict.items.len(), rustc_hash::FxBuildHasher);
    for expression in dict.items.iter().filter_map(|item| item.key.as_ref()) {
        if let Some((key, name)) = constant_key(expression)
            && !seen.insert(key)
        {
            findings.add(LintRule::DuplicateKey, expression.start(), name);
        }
    }
}

/// A key whose value does not depend on its position in the display, with its name for the finding.
fn constant_key(key: &Expr) -> Option<(ConstantKey<'_>, &str)> {
    match key {
        Expr::StringLiteral(text) => Some((ConstantKey::Text(text.value.to_str()), text.value.to_str())),
        Expr::Name(name) => Some((ConstantKey::Other(HashableExpr::from(key)), name.id.as_str())),
        Expr::UnaryOp(sign) if !sign.operand.is_number_literal_expr() => None,
        Expr::BytesLiteral(_)
        | Expr::NumberLiteral(_)
        | Expr::BooleanLiteral(_)
        | Expr::NoneLiteral(_)
        | Expr::EllipsisLiteral(_)
        | Expr::UnaryOp(_)
        | Expr::Tuple(_)
        | Expr::FString(_) => Some((ConstantKey::Other(HashableExpr::from(key)), "")),
        _ => None,
    }
}

/// `x = x`, and `x = x = 1`, which assigns twice.
pub(super) fn self_assignments<'a>(
    targets: &'a [Expr],
    value: &'a Expr,
    findings: &mut FindingCollector<'a>,
) {
    for (position, target) in targets.iter().enumerate() {
        for other in targets[position + 1..].iter().chain([value]) {
            self_assignment(target, other, findings);
        }
    }
}

/// The same name on both sides, also at the same position in tuples of equal length.
fn self_assignment<'a>(target: &'a Expr, value: &'a Expr, findings: &mut FindingCollector<'a>) {
    match (target, value) {
        (Expr::Name(target), Expr::Name(value)) if target.id == value.id => {
            findings.add(LintRule::SelfAssignment, target.start(), target.id.as_str());
        }
        (
            Expr::Tuple(ast::ExprTuple { elts: targets, .. })
            | Expr::List(ast::ExprList { elts: targets, .. }),
            Expr::Tuple(ast::ExprTuple { elts: values, .. }) | Expr::List(ast::ExprList { elts: values, .. }),
        ) if targets.len() == values.len() => {
            for (target, value) in targets.iter().zip(values) {
                self_assignment(target, value, findings);
            }
        }
        _ => {}
    }
}
