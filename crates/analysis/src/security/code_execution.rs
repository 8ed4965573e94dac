//! Execution of text as code: `exec`, and a logging listener that evaluates its input.

use menace_model::inventory::FindingSeverity::{High, Medium};

use super::call::CheckedCall;
use super::report::SecurityIssue;

pub(super) const CALLEES: &[&str] = &["exec", "listen"];

/// B102: any use of `exec`.
pub(super) fn exec(call: &CheckedCall) -> Option<SecurityIssue> {
    call.is("exec").then(|| SecurityIssue::new("B102", Medium, High, "exec runs arbitrary code"))
}

/// B612: a logging configuration server that does not verify its input.
pub(super) fn logging_listener(call: &CheckedCall) -> Option<SecurityIssue> {
    let unverified = call.is("logging.config.listen") && call.keyword("verify").is_none();
    unverified
        .then(|| SecurityIssue::new("B612", Medium, High, "logging.config.listen evaluates unverified input"))
}
