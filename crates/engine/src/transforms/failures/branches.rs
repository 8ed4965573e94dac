//! Branches that do not cover every value.

use super::exception_names::own_exception;
use super::site::{FailureSite, is_alone, quoted, robustness_rewrite, root_of, statements};
use super::{Cause, SourceRewrite, Transform};
use crate::editable_source::EditableSource;
use crate::syntax::{Expr, Ranged, Stmt, ast};

/// Adds the missing `else` to branches that all bind a name.
pub(in crate::transforms) struct UnboundAfterBranches;

impl Transform for UnboundAfterBranches {
    fn name(&self) -> &'static str {
        "unbound-after-branches"
    }

    fn rewrite(&self, source: &EditableSource, cause: &Cause) -> Vec<SourceRewrite> {
        let Some(site) = FailureSite::of(source, cause) else { return Vec::new() };
        // The message of UnboundLocalError quotes the name first.
        let name = site.failed.message.split('\'').nth(1);
        let Some(name) = name.filter(|_| site.exception() == "UnboundLocalError") else { return Vec::new() };
        let branches =
            statements(&site.function.node.body).into_iter().rev().find_map(|statement| match statement {
                Stmt::If(branch)
                    if statement.end() <= site.statement.start() && binds_everywhere(branch, name) =>
                {
                    Some((statement, branch))
                }
                _ => None,
            });
        branches.and_then(|(statement, branch)| with_else(&site, statement, branch)).into_iter().collect()
    }
}

fn binds_everywhere(branch: &ast::StmtIf, name: &str) -> bool {
    let leaves =
        |body: &[Stmt]| body.iter().any(|statement| matches!(statement, Stmt::Return(_) | Stmt::Raise(_)));
    let binds = |body: &[Stmt]| {
        body.iter().any(|statement| match statement {
            Stmt::Assign(assign) => assign
                .targets
                .iter()
                .any(|target| matches!(target, Expr::Name(found) if found.id.as_str() == name)),
            Stmt::AnnAssign(assign) => {
                assign.value.is_some()
                    && matches!(&*assign.target, Expr::Name(found) if found.id.as_str() == name)
            }
            _ => false,
        })
    };
    let has_else = branch.elif_else_clauses.iter().any(|clause| clause.test.is_none());
    let bodies: Vec<&[Stmt]> = std::iter::once(&*branch.body)
        .chain(branch.elif_else_clauses.iter().map(|clause| &*clause.body))
        .collect();
    // If all branches only leave the function, they are early returns and the rest continues on purpose.
    !has_else
        && bodies.iter().any(|body| binds(body))
        && bodies.iter().all(|body| binds(body) || leaves(body))
}

fn with_else(site: &FailureSite<'_>, statement: &Stmt, branch: &ast::StmtIf) -> Option<SourceRewrite> {
    let tests: Vec<&Expr> = std::iter::once(&*branch.test)
        .chain(branch.elif_else_clauses.iter().filter_map(|clause| clause.test.as_ref()))
        .collect();
    let parameters = site.parameters();
    let subject = tests.iter().find_map(|test| subject_of(test)).filter(|name| parameters.contains(name));
    let classes: Option<Vec<&str>> = tests.iter().map(|test| tested_class(site.source, test)).collect();
    let raise = match (subject, classes) {
        (Some(name), Some(classes)) => {
            format!(
                "raise TypeError(f\"{name} must be {}, not {{type({name}).__name__}}\")",
                super::messages::join_names(&classes, "or")
            )
        }
        (Some(name), None) => site.refusal("ValueError", &format!("f\"unknown {name}: {{{name}!r}}\"")),
        _ if own_exception(site.source, site.function.node).is_some() || !parameters.is_empty() => site
            .refusal(
                "ValueError",
                &quoted(&format!("{} is invalid", super::messages::join_names(&parameters, "or"))),
            ),
        _ => return None,
    };
    let last = branch.elif_else_clauses.last().map_or(&*branch.body, |clause| &*clause.body).last()?;
    if !is_alone(site.source, statement) || !is_alone(site.source, last) {
        return None;
    }
    let edits = site.source.edit().after(statement, &["else:".to_owned(), format!("    {raise}")]);
    robustness_rewrite(
        Some(edits),
        "Raise an error when no branch matches, instead of leaving a name unbound.",
    )
}

/// Tested name: `unit` in `unit == "ms"`, `unit in (…)` and `isinstance(unit, …)`.
fn subject_of(test: &Expr) -> Option<&str> {
    match test {
        Expr::Compare(compare) => root_of(&compare.left),
        Expr::Call(call) => call.arguments.args.first().and_then(root_of),
        _ => None,
    }
}

fn tested_class<'a>(source: &'a EditableSource, test: &Expr) -> Option<&'a str> {
    let Expr::Call(call) = test else { return None };
    let is_isinstance = matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "isinstance");
    call.arguments
        .args
        .get(1)
        .filter(|class| is_isinstance && root_of(class).is_some())
        .map(|class| source.of(class))
}

#[cfg(test)]
mod tests {
    use super::super::site::testing::{crash, rewritten};
    use super::*;

    const UNIT: &str = "def f(unit):\n    if unit == \"ms\":\n        factor = 0.001\n    elif unit == \"s\":\n        factor = 1.0\n    return factor\n";

    #[test]
    fn unmatched_values_are_rejected() {
        let message = "cannot access local variable 'factor' where it is not associated with a value";
        let found = rewritten(&UnboundAfterBranches, UNIT, crash(6, "UnboundLocalError", message));
        let expected = UNIT.replace(
            "    return",
            "    else:\n        raise ValueError(f\"unknown unit: {unit!r}\")\n    return",
        );
        assert_eq!(found, [expected]);
        let text = UNIT
            .replace("unit == \"ms\"", "isinstance(unit, str)")
            .replace("unit == \"s\"", "isinstance(unit, bytes)");
        let found = rewritten(&UnboundAfterBranches, &text, crash(6, "UnboundLocalError", message));
        assert!(found[0].contains("    else:\n        raise TypeError(f\"unit must be str or bytes, not {type(unit).__name__}\")\n    return"));
    }

    #[test]
    fn branches_that_do_not_bind_the_name_stay() {
        let text = UNIT.replace("factor = 1.0", "pass");
        assert!(
            rewritten(&UnboundAfterBranches, &text, crash(6, "UnboundLocalError", "variable 'factor' is"))
                .is_empty()
        );
        let text = UNIT.replace("factor = 1.0", "return 1").replace("factor = 0.001", "return 2");
        assert!(
            rewritten(&UnboundAfterBranches, &text, crash(6, "UnboundLocalError", "variable 'factor' is"))
                .is_empty()
        );
        assert!(rewritten(&UnboundAfterBranches, UNIT, crash(6, "NameError", "name 'factor'")).is_empty());
    }
}
