//! Statements that hide failures: assertions that `-O` removes, handlers that swallow every exception.

use menace_model::inventory::FindingSeverity::{High, Low};

use super::report::{SecurityIssue, SecurityReport};
use crate::syntax::{Expr, Stmt, ast};

/// B101: every `assert`.
pub(super) fn assert(node: &ast::StmtAssert, report: &mut SecurityReport) {
    report.add(SecurityIssue::new("B101", Low, High, "assert is removed in optimised runs (-O)"), node);
}

/// B110 and B112: `except:` or `except Exception:` with nothing but `pass` or `continue`.
pub(super) fn except_handler(handler: &ast::ExceptHandler, report: &mut SecurityReport) {
    let ast::ExceptHandler::ExceptHandler(handler) = handler;
    let issue = match handler.body.as_slice() {
        [Stmt::Pass(_)] => SecurityIssue::new("B110", Low, High, "every exception is swallowed"),
        [Stmt::Continue(_)] => SecurityIssue::new("B112", Low, High, "every exception is skipped"),
        _ => return,
    };
    if handler.type_.as_deref().is_none_or(is_exception) {
        report.add(issue, handler);
    }
}

fn is_exception(expr: &Expr) -> bool {
    matches!(expr, Expr::Name(name) if name.id == "Exception")
}
