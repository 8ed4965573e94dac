//! What is known of the host before its files are read.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use menace_model::sandbox::User;

/// The host, and who will be in the sandbox. Everything is an argument so that a test can make a host of its own.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    /// Where the file system of the host begins: `/`, or the directory of a test.
    pub(crate) root: PathBuf,
    /// The `PATH` of the caller.
    pub(crate) path: OsString,
    /// The home directory of the caller.
    pub(crate) home: Option<PathBuf>,
    /// Who the commands are inside.
    pub(crate) user: User,
    /// The name of the sandbox as a machine.
    pub(crate) hostname: String,
}

impl Host {
    /// The host as this process sees it.
    pub(crate) fn of_this_process(user: User, hostname: String) -> Self {
        Self {
            root: PathBuf::from("/"),
            path: env::var_os("PATH").unwrap_or_default(),
            home: env::home_dir(),
            user,
            hostname,
        }
    }
}
