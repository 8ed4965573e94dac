//! The error of all steps into a sandbox: the name of the step and the error number of the kernel.

use std::fmt::Display;
use std::io;

use menace_model::{ErrorClass, ErrorDetails};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Kind of a step, as far as it decides what the user can do about its failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepKind {
    /// Creating a user namespace and mapping ids into it.
    UserNamespace,
    /// Creating another namespace.
    Namespace,
    /// Mounting proc.
    MountProc,
    /// Mounting overlayfs.
    MountOverlay,
    /// Mapping the owner of the files of a directory.
    MapOwner,
    /// Opening a path.
    Open,
    /// Installing a seccomp filter.
    FilterSyscalls,
    /// Creating the netem queue discipline.
    Netem,
    /// Joining a control group.
    JoinCgroup,
    /// Any other step.
    Other,
}

/// A step that the kernel refused. It is sent from the child to the process that requested the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("failed to {step}: {}", io::Error::from_raw_os_error(*errno))]
pub struct StepError {
    /// Name of the step, as a verb with its object.
    pub step: String,
    /// Kind of the step.
    pub kind: StepKind,
    /// Error number.
    pub errno: i32,
}

impl StepError {
    /// Error of the kernel.
    pub fn source(&self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }
}

impl ErrorDetails for StepError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Unsupported
    }

    fn hint(&self) -> Option<String> {
        let text = match (self.kind, self.errno) {
            (_, libc::ENOMEM) => "free memory, or raise the memory limit of the sandbox",
            (StepKind::UserNamespace | StepKind::Namespace, libc::ENOSPC) => {
                "raise the number of namespaces: sysctl user.max_user_namespaces=15000 (and user.max_net_namespaces, …)"
            }
            (_, libc::ENOSPC) => "free space in memory-backed file systems, or set a smaller disk limit",
            (StepKind::UserNamespace, _) => {
                "run as root, or allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian), \
                 kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), user.max_user_namespaces=15000; in a container, \
                 its seccomp profile has to allow unshare and mount"
            }
            (StepKind::MountProc, _) => {
                "mounting /proc requires an unmasked /proc: run outside of a container, or in one started with \
                 --security-opt systempaths=unconfined"
            }
            (StepKind::MountOverlay, libc::ENODEV) => "load the overlay module: modprobe overlay",
            (StepKind::MountOverlay, _) => {
                "the workspace needs overlayfs in user namespaces: Linux 5.11 or newer; --rw works without it"
            }
            (StepKind::MapOwner, _) => {
                "the file system of this directory cannot map owners (Linux 5.12 or newer and ext4, xfs, btrfs or tmpfs \
                 can): run as the owner of the directory instead of root"
            }
            (StepKind::Open, _) => "check that the path exists and that you may read it",
            (StepKind::FilterSyscalls, _) => {
                "the kernel needs CONFIG_SECCOMP_FILTER and user notification (Linux 5.0)"
            }
            (StepKind::Netem, libc::ENOENT) => {
                "this kernel has no netem (modprobe sch_netem, or CONFIG_NET_SCH_NETEM); without --shaper menace uses its own shaper"
            }
            (StepKind::JoinCgroup, _) => "check that the cgroup file system is writable",
            (StepKind::Namespace | StepKind::Netem | StepKind::Other, _) => {
                "menace doctor shows what this host lacks"
            }
        };
        Some(text.to_owned())
    }
}

/// Adds the name of a step to an error.
pub trait StepContext<T>: Sized {
    /// Converts a kernel error into one that names the step and its kind. The name is created only when there is an
    /// error.
    fn step_of<S: Display>(self, kind: StepKind, name: impl FnOnce() -> S) -> Result<T, StepError>;

    /// Converts a kernel error into one that names the step.
    fn step<S: Display>(self, name: impl FnOnce() -> S) -> Result<T, StepError> {
        self.step_of(StepKind::Other, name)
    }
}

impl<T> StepContext<T> for io::Result<T> {
    fn step_of<S: Display>(self, kind: StepKind, name: impl FnOnce() -> S) -> Result<T, StepError> {
        self.map_err(|error| StepError {
            step: name().to_string(),
            kind,
            errno: error.raw_os_error().unwrap_or(libc::EIO),
        })
    }
}

impl<T> StepContext<T> for rustix::io::Result<T> {
    fn step_of<S: Display>(self, kind: StepKind, name: impl FnOnce() -> S) -> Result<T, StepError> {
        self.map_err(|error| StepError { step: name().to_string(), kind, errno: error.raw_os_error() })
    }
}

/// Names the step of an error that has a kernel error in its chain of sources.
pub fn name_step<T, E: std::error::Error + 'static>(
    result: Result<T, E>,
    name: &str,
) -> Result<T, StepError> {
    result.map_err(|error| {
        let mut errno = None;
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(inner) = cause {
            let of_standard = inner.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
            let of_rustix = inner.downcast_ref::<rustix::io::Errno>().map(|errno| errno.raw_os_error());
            errno = errno.or(of_standard).or(of_rustix);
            cause = inner.source();
        }
        StepError { step: name.to_owned(), kind: StepKind::Other, errno: errno.unwrap_or(libc::EIO) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(kind: StepKind, errno: i32) -> String {
        let error = StepError { step: "open the door".into(), kind, errno };
        assert!(!error.to_string().contains("hint:"), "{error}");
        error.hint().expect("every step has a hint")
    }

    #[test]
    fn the_kind_of_a_step_and_its_error_number_decide_the_hint() {
        let cases = [
            (StepKind::Namespace, libc::ENOSPC, "max_user_namespaces"),
            (StepKind::Other, libc::ENOSPC, "disk limit"),
            (StepKind::MountOverlay, libc::ENODEV, "modprobe overlay"),
            (StepKind::MountOverlay, libc::EPERM, "Linux 5.11"),
            (StepKind::UserNamespace, libc::EPERM, "run as root"),
            (StepKind::Open, libc::ENOENT, "the path exists"),
            (StepKind::Netem, libc::ENOENT, "sch_netem"),
            (StepKind::Netem, libc::EPERM, "menace doctor"),
            // The name of the step begins with "open", and opens no path.
            (StepKind::Other, libc::ENOENT, "menace doctor"),
        ];
        for (kind, errno, part) in cases {
            let hint = hint(kind, errno);
            assert!(hint.contains(part), "{kind:?} {errno}: {hint}");
        }
    }
}
