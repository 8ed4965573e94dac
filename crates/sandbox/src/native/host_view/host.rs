//! Description of the host before its files are read.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use menace_model::sandbox::SandboxUser;

/// Host and user of a sandbox. All values are parameters, so that a test can define a host of its own.
#[derive(Debug, Clone)]
pub(crate) struct HostDescription {
    /// Root of the host's file system: `/`, or the directory of a test.
    pub(crate) root: PathBuf,
    /// `PATH` of the caller.
    pub(crate) path: OsString,
    /// Home directory of the caller.
    pub(crate) home: Option<PathBuf>,
    /// User of the commands inside.
    pub(crate) user: SandboxUser,
    /// Host name of the sandbox.
    pub(crate) hostname: String,
}

impl HostDescription {
    /// Host as this process sees it.
    pub(crate) fn of_this_process(user: SandboxUser, hostname: String) -> Self {
        Self {
            root: PathBuf::from("/"),
            path: env::var_os("PATH").unwrap_or_default(),
            home: env::home_dir(),
            user,
            hostname,
        }
    }
}
