//! The variables that a command in a sandbox starts with, the same in every backend.
//!
//! Nothing is inherited from the caller but how people read: language, time zone and terminal. A token in the
//! environment of menace is none of the business of the code inside.

use std::collections::BTreeMap;

use menace_model::sandbox::{ExecRequest, SandboxSpec, WORKSPACE};

/// Where programs are looked up, as on Debian.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What every command of a backend starts with.
#[derive(Debug, Clone)]
pub(crate) struct BaseEnvironment(BTreeMap<String, String>);

impl BaseEnvironment {
    /// With this `PATH`, and variables that say where toolchains are.
    pub(crate) fn new(path: &str, toolchains: &BTreeMap<String, String>) -> Self {
        let of_the_caller = |name: &str, default: &str| {
            let value = std::env::var(name).ok().filter(|value| !value.is_empty());
            (name.to_owned(), value.unwrap_or_else(|| default.to_owned()))
        };
        let mut all = toolchains.clone();
        all.extend([
            ("PATH".to_owned(), path.to_owned()),
            ("HOME".to_owned(), WORKSPACE.to_owned()),
            of_the_caller("LANG", "C.UTF-8"),
            of_the_caller("TZ", "UTC"),
            of_the_caller("TERM", "dumb"),
        ]);
        Self(all)
    }

    /// With those of the sandbox and those of the command; the later wins.
    pub(crate) fn of_command(&self, spec: &SandboxSpec, request: &ExecRequest) -> BTreeMap<String, String> {
        let mut environment = self.0.clone();
        environment.extend(spec.environment.clone());
        environment.extend(request.environment.clone());
        environment
    }
}
