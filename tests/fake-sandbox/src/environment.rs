//! Environment variables of commands, the same as in the other backends; the conformance suite compares them.

use std::collections::BTreeMap;

use menace_model::sandbox::{ExecRequest, SandboxSpec, WORKSPACE};

/// Default `PATH`, as on Debian.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Environment of one command: base, then sandbox, then command variables; the later wins.
pub(crate) fn of_command(spec: &SandboxSpec, request: &ExecRequest) -> BTreeMap<String, String> {
    let inherited = |name: &str, default: &str| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        (name.to_owned(), value.unwrap_or_else(|| default.to_owned()))
    };
    let mut environment = BTreeMap::from([
        ("PATH".to_owned(), PATH.to_owned()),
        ("HOME".to_owned(), WORKSPACE.to_owned()),
        inherited("LANG", "C.UTF-8"),
        inherited("TZ", "UTC"),
        inherited("TERM", "dumb"),
    ]);
    environment.extend(spec.environment.clone());
    environment.extend(request.environment.clone());
    environment
}
