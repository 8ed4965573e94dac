//! The variables that a command in a sandbox starts with, the same in every backend.
//!
//! Nothing is inherited from the caller: a token in the environment of menace is none of the business of the code
//! inside, and a result must not depend on who started it.

use std::collections::BTreeMap;

use menace_model::sandbox::{ExecRequest, SandboxSpec, WORKSPACE};

/// Where programs are looked up, as on Debian.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The standard variables, those of the sandbox and those of the command; the later wins.
pub(crate) fn command_environment(spec: &SandboxSpec, request: &ExecRequest) -> BTreeMap<String, String> {
    let standard = [("HOME", WORKSPACE), ("LANG", "C.UTF-8"), ("PATH", PATH), ("TZ", "UTC")];
    let mut environment: BTreeMap<String, String> =
        standard.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    environment.extend(spec.environment.clone());
    environment.extend(request.environment.clone());
    environment
}
