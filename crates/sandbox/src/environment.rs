//! Environment variables of commands in sandboxes, the same in every backend.
//!
//! Only language, time zone and terminal type are inherited from the caller. A token in the environment of menace must
//! not reach the code in the sandbox.

use std::collections::BTreeMap;

use menace_model::sandbox::{ExecRequest, SandboxSpec, WORKSPACE};

/// Default `PATH`, as on Debian.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Variables that every command of a backend starts with.
#[derive(Debug, Clone)]
pub(crate) struct BaseEnvironment(BTreeMap<String, String>);

impl BaseEnvironment {
    /// Combines a `PATH` with the variables that locate toolchains.
    pub(crate) fn new(path: &str, toolchains: &BTreeMap<String, String>) -> Self {
        let inherited = |name: &str, default: &str| {
            let value = std::env::var(name).ok().filter(|value| !value.is_empty());
            (name.to_owned(), value.unwrap_or_else(|| default.to_owned()))
        };
        let mut all = toolchains.clone();
        all.extend([
            ("PATH".to_owned(), path.to_owned()),
            ("HOME".to_owned(), WORKSPACE.to_owned()),
            inherited("LANG", "C.UTF-8"),
            inherited("TZ", "UTC"),
            inherited("TERM", "dumb"),
        ]);
        Self(all)
    }

    /// Environment of one command: base, then sandbox, then command variables; the later wins.
    pub(crate) fn of_command(&self, spec: &SandboxSpec, request: &ExecRequest) -> BTreeMap<String, String> {
        let mut environment = self.0.clone();
        environment.extend(spec.environment.clone());
        environment.extend(request.environment.clone());
        environment
    }
}
