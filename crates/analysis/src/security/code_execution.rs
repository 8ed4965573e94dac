//! Execution of text as code: `exec`, and a logging listener that evaluates its input.

use menace_model::inventory::Severity::{High, Medium};

use super::call::Call;
use super::report::Issue;

pub(super) const CALLEES: &[&str] = &["exec", "listen"];

/// B102: any use of `exec`.
pub(super) fn exec(call: &Call) -> Option<Issue> {
    call.is("exec").then(|| Issue::new("B102", Medium, High, "exec runs arbitrary code"))
}

/// B612: a logging configuration server that does not verify its input.
pub(super) fn logging_listener(call: &Call) -> Option<Issue> {
    let unverified = call.is("logging.config.listen") && call.keyword("verify").is_none();
    unverified.then(|| Issue::new("B612", Medium, High, "logging.config.listen evaluates unverified input"))
}
