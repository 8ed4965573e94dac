//! File permissions and archives.

use menace_model::inventory::FindingSeverity::{High, Low, Medium};

use super::argument_value;
use super::call::CheckedCall;
use super::report::SecurityIssue;
use crate::syntax::{Expr, ast};

const WRITABLE_BY_OTHERS: u64 = 0o002;
const WRITABLE_OR_EXECUTABLE: u64 = 0o033;

/// Whether a call changes a mode to a literal number. Any name that contains `chmod` counts.
pub(super) fn is_chmod(call: &ast::ExprCall, name: &str) -> bool {
    matches!(&*call.arguments.args, [_, Expr::NumberLiteral(_)]) && contains(name, b"chmod")
}

/// Whether a name unpacks archives.
pub(super) fn is_extraction(name: &str) -> bool {
    contains(name, b"extractall")
}

/// Substring search for short names, for which the set-up of `str::contains` takes longer than the search.
fn contains(name: &str, part: &[u8]) -> bool {
    name.as_bytes().windows(part.len()).any(|window| window == part)
}

/// B103: modes that let the group or other users write or execute.
pub(super) fn permissive_mode(call: &CheckedCall) -> Option<SecurityIssue> {
    if !is_chmod(call.node, call.name()) {
        return None;
    }
    let Some(argument_value::ArgumentValue::Integer(mode)) = call.argument(1) else { return None };
    let mode = mode.as_u64()?;
    if mode & WRITABLE_OR_EXECUTABLE == 0 {
        return None;
    }
    let severity = if mode & WRITABLE_BY_OTHERS == 0 { Medium } else { High };
    Some(SecurityIssue::new("B103", severity, High, format!("mode {mode:#o} grants access to other users")))
}

/// B202: `extractall` of a tar archive without filtering its members.
pub(super) fn unchecked_extraction(call: &CheckedCall) -> Option<SecurityIssue> {
    if !is_extraction(call.name()) || !call.names.imports_module("tarfile") {
        return None;
    }
    if call.keyword("filter").and_then(argument_value::string) == Some("data") {
        return None;
    }
    let (level, message) = match call.keyword("members") {
        Some(Expr::Call(_)) => (Low, "check that the function drops members outside the target"),
        Some(_) => (Medium, "check that the members stay inside the target"),
        None => (High, "members of a tar archive can be written outside the target"),
    };
    Some(SecurityIssue::new("B202", level, level, message))
}
