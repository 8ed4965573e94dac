//! Connections to other machines: HTTP clients, SSH, SNMP.

use menace_model::inventory::FindingSeverity::{High, Low, Medium};

use super::argument_value::ArgumentValue;
use super::call::CheckedCall;
use super::report::SecurityIssue;
use crate::syntax::Expr;

pub(super) const CALLEES: &[&str] = &[
    "get",
    "options",
    "head",
    "post",
    "put",
    "patch",
    "delete",
    "request",
    "stream",
    "Client",
    "AsyncClient",
    "exec_command",
    "set_missing_host_key_policy",
    "CommunityData",
    "UsmUserData",
];

/// HTTP client with which a call sends a request.
enum HttpClientLibrary {
    Requests,
    Httpx,
}

impl HttpClientLibrary {
    fn of(call: &CheckedCall) -> Option<Self> {
        let is_verb =
            || matches!(call.name(), "get" | "options" | "head" | "post" | "put" | "patch" | "delete");
        match call.root() {
            "requests" => is_verb().then_some(Self::Requests),
            "httpx" => {
                let opens = matches!(call.name(), "request" | "stream" | "Client" | "AsyncClient");
                (opens || is_verb()).then_some(Self::Httpx)
            }
            _ => None,
        }
    }
}

/// B501: `verify=False`.
pub(super) fn no_certificate_check(call: &CheckedCall) -> Option<SecurityIssue> {
    HttpClientLibrary::of(call)?;
    call.keyword_is("verify", "False").then(|| {
        SecurityIssue::new("B501", High, High, "accepts every certificate").at(call.keyword_offset("verify"))
    })
}

/// B113: a request that can wait forever. `httpx` has a default timeout unless it is turned off.
pub(super) fn no_timeout(call: &CheckedCall) -> Option<SecurityIssue> {
    let client = HttpClientLibrary::of(call)?;
    let is_missing = matches!(client, HttpClientLibrary::Requests) && call.keyword_value("timeout").is_none();
    (is_missing || call.keyword_is("timeout", "None"))
        .then(|| SecurityIssue::new("B113", Medium, Low, "request without a timeout can wait forever"))
}

/// B601: a command that paramiko runs in a remote shell.
pub(super) fn paramiko_command(call: &CheckedCall) -> Option<SecurityIssue> {
    (call.name() == "exec_command" && call.names.imports_name_containing("paramiko"))
        .then(|| SecurityIssue::new("B601", Medium, Medium, "command runs in the remote shell"))
}

/// B507: a policy that trusts unknown hosts.
pub(super) fn unknown_host_key(call: &CheckedCall) -> Option<SecurityIssue> {
    if call.name() != "set_missing_host_key_policy" || !call.names.imports_name_containing("paramiko") {
        return None;
    }
    let policy = match call.arguments().first()? {
        Expr::Call(made) => &made.func,
        argument => argument,
    };
    let name = match policy {
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Name(name) => name.id.as_str(),
        _ => return None,
    };
    matches!(name, "AutoAddPolicy" | "WarningPolicy")
        .then(|| SecurityIssue::new("B507", High, Medium, "trusts unknown host keys"))
}

/// B508: SNMP version 1 or 2.
pub(super) fn snmp_version(call: &CheckedCall) -> Option<SecurityIssue> {
    let Some(ArgumentValue::Integer(model)) = call.keyword_value("mpModel") else { return None };
    let is_old = model.as_u64().is_some_and(|model| model < 2);
    (is_old && call.is("pysnmp.hlapi.CommunityData")).then(|| {
        SecurityIssue::new("B508", Medium, High, "SNMP before version 3 sends everything in clear text")
    })
}

/// B509: SNMP version 3 without encryption.
pub(super) fn snmp_without_encryption(call: &CheckedCall) -> Option<SecurityIssue> {
    (call.is("pysnmp.hlapi.UsmUserData") && call.arguments().len() < 3)
        .then(|| SecurityIssue::new("B509", Medium, High, "SNMP without encryption"))
}
