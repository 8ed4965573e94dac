//! Child process of a probe, `menace __probe NAME`.
//!
//! The child is executed, not only forked, because the caller may have threads: a forked copy of a threaded process may
//! not allocate, and a process with threads cannot enter a user namespace.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use super::catalog::PROBES;
use super::process::die_with_parent;
use super::result::ProbeChildReport;

/// Argument that selects the probe child mode.
pub(super) const CHILD_ARGUMENT: &str = "__probe";

/// Runs the requested probe and returns the exit code if this process was started as a probe child.
///
/// Must be called before any thread is started. `arguments` are those of the process, program name first.
pub fn child_main(arguments: &[OsString]) -> Option<ExitCode> {
    let [_, argument, name] = arguments else { return None };
    if argument != CHILD_ARGUMENT {
        return None;
    }
    let Some(probe) = PROBES.iter().find(|probe| name == probe.name) else { return Some(ExitCode::from(2)) };
    die_with_parent();
    let answer = match (probe.attempt)() {
        Ok(detail) => ProbeChildReport { present: true, detail, remedy: None },
        Err(refusal) => {
            ProbeChildReport { present: false, detail: refusal.to_string(), remedy: refusal.remedy() }
        }
    };
    let line = serde_json::to_string(&answer).map_err(std::io::Error::from);
    let printed = line.and_then(|line| writeln!(std::io::stdout(), "{line}"));
    Some(if printed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
