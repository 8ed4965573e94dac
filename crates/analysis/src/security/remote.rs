//! Connections to other machines: HTTP clients, SSH, SNMP.

use menace_model::inventory::Severity::{High, Low, Medium};

use super::call::Call;
use super::report::Issue;
use super::value::Value;
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
enum Client {
    Requests,
    Httpx,
}

impl Client {
    fn of(call: &Call) -> Option<Self> {
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
pub(super) fn no_certificate_check(call: &Call) -> Option<Issue> {
    Client::of(call)?;
    call.keyword_is("verify", "False")
        .then(|| Issue::new("B501", High, High, "accepts every certificate").at(call.keyword_place("verify")))
}

/// B113: a request that can wait forever. `httpx` has a default timeout unless it is turned off.
pub(super) fn no_timeout(call: &Call) -> Option<Issue> {
    let client = Client::of(call)?;
    let is_missing = matches!(client, Client::Requests) && call.keyword_value("timeout").is_none();
    (is_missing || call.keyword_is("timeout", "None"))
        .then(|| Issue::new("B113", Medium, Low, "request without a timeout can wait forever"))
}

/// B601: a command that paramiko runs in a remote shell.
pub(super) fn paramiko_command(call: &Call) -> Option<Issue> {
    (call.name() == "exec_command" && call.names.has_like("paramiko"))
        .then(|| Issue::new("B601", Medium, Medium, "command runs in the remote shell"))
}

/// B507: a policy that trusts unknown hosts.
pub(super) fn unknown_host_key(call: &Call) -> Option<Issue> {
    if call.name() != "set_missing_host_key_policy" || !call.names.has_like("paramiko") {
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
        .then(|| Issue::new("B507", High, Medium, "trusts unknown host keys"))
}

/// B508: SNMP version 1 or 2.
pub(super) fn snmp_version(call: &Call) -> Option<Issue> {
    let Some(Value::Integer(model)) = call.keyword_value("mpModel") else { return None };
    let is_old = model.as_u64().is_some_and(|model| model < 2);
    (is_old && call.is("pysnmp.hlapi.CommunityData"))
        .then(|| Issue::new("B508", Medium, High, "SNMP before version 3 sends everything in clear text"))
}

/// B509: SNMP version 3 without encryption.
pub(super) fn snmp_without_encryption(call: &Call) -> Option<Issue> {
    (call.is("pysnmp.hlapi.UsmUserData") && call.arguments().len() < 3)
        .then(|| Issue::new("B509", Medium, High, "SNMP without encryption"))
}
