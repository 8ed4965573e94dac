//! Probes of every kind of namespace, and of the system calls that start a process in them.

use std::fs;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};
use rustix::thread::UnshareFlags;

use super::failure::{ProbeFailure, step_failed, syscall_failed};
use super::process::{continue_in_child, die_with_parent, last_errno};
use super::user_namespace::{enter_user_namespace, setting, unshare};

/// Kind of namespace whose creation needs a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbedNamespace {
    Mount,
    Pid,
    Net,
    Ipc,
    Uts,
    Cgroup,
    Time,
}

impl ProbedNamespace {
    fn flag(self) -> UnshareFlags {
        match self {
            Self::Mount => UnshareFlags::NEWNS,
            Self::Pid => UnshareFlags::NEWPID,
            Self::Net => UnshareFlags::NEWNET,
            Self::Ipc => UnshareFlags::NEWIPC,
            Self::Uts => UnshareFlags::NEWUTS,
            Self::Cgroup => UnshareFlags::NEWCGROUP,
            Self::Time => UnshareFlags::NEWTIME,
        }
    }

    /// Sysctl that limits the number of namespaces, and the kernel build option.
    fn limit_and_option(self) -> (&'static str, &'static str) {
        match self {
            Self::Mount => ("max_mnt_namespaces", "CONFIG_NAMESPACES"),
            Self::Pid => ("max_pid_namespaces", "CONFIG_PID_NS"),
            Self::Net => ("max_net_namespaces", "CONFIG_NET_NS"),
            Self::Ipc => ("max_ipc_namespaces", "CONFIG_IPC_NS"),
            Self::Uts => ("max_uts_namespaces", "CONFIG_UTS_NS"),
            Self::Cgroup => ("max_cgroup_namespaces", "CONFIG_CGROUPS"),
            Self::Time => ("max_time_namespaces", "CONFIG_TIME_NS"),
        }
    }

    /// Link in `/proc/self/ns` whose target changes; a new pid namespace has none before its first process.
    fn link(self) -> Option<&'static str> {
        match self {
            Self::Mount => Some("/proc/self/ns/mnt"),
            Self::Pid => None,
            Self::Net => Some("/proc/self/ns/net"),
            Self::Ipc => Some("/proc/self/ns/ipc"),
            Self::Uts => Some("/proc/self/ns/uts"),
            Self::Cgroup => Some("/proc/self/ns/cgroup"),
            Self::Time => Some("/proc/self/ns/time_for_children"),
        }
    }
}

/// Creates a user namespace and becomes root in it.
pub(super) fn user() -> Result<String, ProbeFailure> {
    enter_user_namespace()?;
    Ok("created, with capabilities in it".to_owned())
}

/// Creates a user namespace inside a user namespace.
pub(super) fn nested_user() -> Result<String, ProbeFailure> {
    enter_user_namespace()?;
    enter_user_namespace()?;
    Ok("created inside another one".to_owned())
}

/// Unshares one namespace inside a new user namespace. If user namespaces are unavailable, uses the process's own
/// privileges, so that only the user namespace is reported as missing and not all kinds.
pub(super) fn probe_namespace(kind: ProbedNamespace) -> Result<String, ProbeFailure> {
    let limit = setting(&format!("user/{}", kind.limit_and_option().0));
    let before = kind.link().map(read_link).transpose()?;
    let without_user = enter_user_namespace().err();
    let context =
        if without_user.is_none() { "inside a new user namespace" } else { "without a user namespace" };
    unshare(kind.flag()).map_err(|errno| without_user.unwrap_or_else(|| explain(kind, errno, limit)))?;
    verify(kind, before.as_deref())?;
    Ok(format!("created {context}"))
}

/// Enters a new namespace inside a new user namespace, for probes that need one.
pub(super) fn enter(kind: ProbedNamespace) -> Result<(), ProbeFailure> {
    let limit = setting(&format!("user/{}", kind.limit_and_option().0));
    enter_user_namespace()?;
    unshare(kind.flag()).map_err(|errno| explain(kind, errno, limit))
}

fn verify(kind: ProbedNamespace, before: Option<&str>) -> Result<(), ProbeFailure> {
    let step = "unshare";
    let Some(link) = kind.link() else {
        continue_in_child()?;
        let id = std::process::id();
        let observed = format!("the first process has the id {id}");
        return if id == 1 { Ok(()) } else { Err(ProbeFailure::Ineffective { step, observed }) };
    };
    let after = read_link(link)?;
    if before == Some(after.as_str()) {
        return Err(ProbeFailure::Ineffective { step, observed: format!("{link} is still the same") });
    }
    Ok(())
}

fn read_link(link: &str) -> Result<String, ProbeFailure> {
    let target = fs::read_link(link).map_err(step_failed(format!("read {link}")))?;
    Ok(target.display().to_string())
}

fn explain(kind: ProbedNamespace, errno: Errno, limit: Option<u64>) -> ProbeFailure {
    let (setting, option) = kind.limit_and_option();
    match errno {
        Errno::NOSPC => ProbeFailure::Explained {
            reason: format!(
                "user.{setting} ({}) is used up, here or in a namespace above",
                limit.map_or("unreadable".to_owned(), |limit| limit.to_string())
            ),
            remedy: format!("sysctl -w user.{setting}=15000"),
        },
        Errno::INVAL => ProbeFailure::Explained {
            reason: format!("the kernel was built without {option}"),
            remedy: "use a distribution kernel".to_owned(),
        },
        _ => syscall_failed("unshare")(errno),
    }
}

/// Starts a process with `clone3`, kills it through its pidfd, and checks the signal that ended it.
pub(super) fn clone3_with_pidfd() -> Result<String, ProbeFailure> {
    let pidfd = clone_sleeping_child()?;
    pidfd_send_signal(pidfd.as_fd(), Signal::KILL).map_err(syscall_failed("signal through a pidfd"))?;
    let ended = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED)
        .map_err(syscall_failed("wait on a pidfd"))?;
    let signal = ended.and_then(|status| status.terminating_signal());
    if signal != Some(Signal::KILL.as_raw()) {
        return Err(ProbeFailure::Ineffective {
            step: "a signal through a pidfd",
            observed: format!("the child ended by {signal:?}"),
        });
    }
    Ok("started, signalled and awaited a child".to_owned())
}

fn clone_sleeping_child() -> Result<OwnedFd, ProbeFailure> {
    let mut descriptor: libc::c_int = -1;
    // SAFETY: `clone_args` is a plain structure of integers, for which zero means "not used".
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = u64::from(libc::CLONE_PIDFD.cast_unsigned());
    arguments.pidfd = (&raw mut descriptor).addr() as u64;
    arguments.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
    // SAFETY: without CLONE_VM the child has its own copy of the memory, as after fork, and this process has one thread
    // (see `process::fork`). The kernel reads `size_of` bytes of `arguments` and writes `descriptor`; both outlive the
    // call.
    let cloned =
        unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<libc::clone_args>()) };
    match cloned {
        0 => {
            die_with_parent();
            loop {
                rustix::event::pause();
            }
        }
        -1 => Err(syscall_failed("clone3")(last_errno())),
        // SAFETY: the kernel has just created this descriptor for this process, and nothing else owns it.
        _ => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
    }
}
