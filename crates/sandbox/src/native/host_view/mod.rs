//! Default view of the host's files inside a sandbox.
//!
//! [`host_view`] reads the file system of the host and returns a plan; it mounts nothing. The plan holds the system
//! directories, a few public files of `/etc`, and the toolchains on `PATH` that live elsewhere, each at the path that it
//! has on the host, so that shebangs, `pyvenv.cfg` and library paths stay right. It never holds a home directory or the
//! secrets in one.

mod etc;
mod host;
mod identity;
mod installation;
mod links;
mod plan;
mod privacy;
mod search_path;
mod system;
mod tree;
mod view;

#[cfg(test)]
mod tests;

pub(crate) use host::HostDescription;
pub(crate) use view::{host_view, toolchain_of};
