//! Loops that do not end, or take too long.

use super::exception_names::own_exception;
use super::site::{callee, is_alone, parameters, robustness_rewrite, root_of, statements};
use super::{Cause, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// Bounds a loop whose number of iterations depends on the caller.
pub(in crate::transforms) struct BoundedLoop;

impl Transform for BoundedLoop {
    fn name(&self) -> &'static str {
        "bounded-loop"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Cause::Failure(failed) = cause else { return Vec::new() };
        let Some(function) = source.function(&failed.section).filter(|_| failed.kind == "timeout") else {
            return Vec::new();
        };
        let names: Vec<&str> =
            parameters(function).iter().map(|parameter| parameter.parameter.name.as_str()).collect();
        statements(&function.node.body)
            .into_iter()
            .filter(|statement| is_alone(source, statement))
            .flat_map(|statement| match statement {
                Stmt::While(repeat) => counts_down(source, repeat, &names).into_iter().collect(),
                Stmt::For(each) => ["1_000_000", "10_000"]
                    .into_iter()
                    .filter_map(|most| at_most(source, function.node, (statement, each), &names, most))
                    .collect(),
                _ => Vec::new(),
            })
            .collect()
    }
}

/// Fixes a countdown with `while rows != 0`, which ends only for non-negative integers.
fn counts_down(source: &EditableSource, repeat: &ast::StmtWhile, names: &[&str]) -> Option<SourceRewrite> {
    let Expr::Compare(compare) = &*repeat.test else { return None };
    let name = root_of(&compare.left).filter(|name| names.contains(name) && compare.left.is_name_expr())?;
    let is_not_zero =
        matches!(&*compare.ops, [ast::CmpOp::NotEq]) && source.of(&compare.comparators[0]) == "0";
    let subtracts = statements(&repeat.body).into_iter().any(|statement| match statement {
        Stmt::AugAssign(assign) => assign.op == ast::Operator::Sub && source.of(&*assign.target) == name,
        _ => false,
    });
    if !is_not_zero || !subtracts {
        return None;
    }
    let edits = source.edit().replace(&*repeat.test, format!("{name} > 0"));
    robustness_rewrite(
        Some(edits),
        format!("End the loop also if `{name}` passes 0 without being equal to it."),
    )
}

fn at_most(
    source: &EditableSource,
    function: &ast::StmtFunctionDef,
    (statement, each): (&Stmt, &ast::StmtFor),
    names: &[&str],
    most: &str,
) -> Option<SourceRewrite> {
    let Expr::Call(call) = &*each.iter else { return None };
    let last = call.arguments.args.get(usize::from(call.arguments.args.len() > 1))?;
    let Expr::Name(count) = last else { return None };
    let name = count.id.as_str();
    let top = source.body().iter().find(|outer| outer.contains_function(function))?;
    if callee(source, call) != Some("range") || !names.contains(&name) || !is_alone(source, top) {
        return None;
    }
    let constant = format!("MOST_{}", name.to_uppercase());
    if source.text().contains(&constant) {
        return None;
    }
    let own = own_exception(source, function).unwrap_or("ValueError");
    let guard = [
        format!("if {name} > {constant}:"),
        format!("    raise {own}(f\"{name} must be at most {{{constant}}}\")"),
    ];
    let edits = source.edit().before(top, &[format!("{constant} = {most}"), String::new(), String::new()]);
    robustness_rewrite(
        Some(edits.before(statement, &guard)),
        format!("Limit `{name}` to {most} iterations, so that the call ends."),
    )
}

/// Test whether a top-level statement is a function or contains it.
trait ContainsFunction {
    fn contains_function(&self, function: &ast::StmtFunctionDef) -> bool;
}

impl ContainsFunction for Stmt {
    fn contains_function(&self, function: &ast::StmtFunctionDef) -> bool {
        matches!(self, Stmt::FunctionDef(_) | Stmt::ClassDef(_))
            && self.range().contains_range(function.range)
    }
}

#[cfg(test)]
mod tests {
    use super::super::SectionFailure;
    use super::super::site::testing::rewritten;
    use super::*;

    #[test]
    fn loops_are_bounded() {
        let timeout = |section: &str| SectionFailure {
            section: section.to_owned(),
            kind: "timeout".to_owned(),
            ..SectionFailure::default()
        };
        let text = "def f(rows):\n    while rows != 0:\n        rows -= 1\n";
        assert_eq!(
            rewritten(&BoundedLoop, text, timeout("f")),
            ["def f(rows):\n    while rows > 0:\n        rows -= 1\n"]
        );
        let text =
            "import os\n\n\ndef f(balance, years):\n    for _ in range(years):\n        balance *= 2\n";
        let expected = "import os\n\n\nMOST_YEARS = 1_000_000\n\n\ndef f(balance, years):\n    if years > MOST_YEARS:\n        raise ValueError(f\"years must be at most {MOST_YEARS}\")\n    for _ in range(years):\n        balance *= 2\n";
        assert_eq!(rewritten(&BoundedLoop, text, timeout("f"))[0], expected);
        let text = "def f(rows):\n    while True:\n        rows -= 1\n";
        assert!(rewritten(&BoundedLoop, text, timeout("f")).is_empty());
        assert!(
            rewritten(&BoundedLoop, "def f():\n    for _ in range(3):\n        pass\n", timeout("f"))
                .is_empty()
        );
    }
}
