//! Ownership of the files of a host directory as seen from a sandbox.
//!
//! Under root, sandboxes run as an unprivileged user of the host, who may not read root's private files and may not
//! write at all. An id-mapped mount shows the files of the directory's owner as files of the sandbox's user.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::fstat;
use rustix::process::{Pid, Signal, WaitOptions, pidfd_send_signal, waitpid};

use crate::clone::{ForkResult, fork_into};
use crate::{StepContext, StepError, StepKind};

/// Host ids that are not in use: files of all other owners than that of the directory are shown with these.
const UNUSED_IDS: u32 = 0x7000_0000;
/// Number of mapped ids. More than any system allocates by default.
const RANGE: u32 = 0x00ff_0000;

/// A user namespace that maps a directory's owner to a user of the host.
#[derive(Debug)]
pub struct OwnerMap {
    namespace: OwnedFd,
}

impl OwnerMap {
    /// Maps the owner of a directory to a user and group. `process_view` is the `/proc` of this process's own process
    /// namespace: in another one the child's number would denote another process.
    ///
    /// # Safety
    ///
    /// The calling process has one thread, because it forks.
    pub unsafe fn of(
        directory: &OwnedFd,
        process_view: &Path,
        (uid, gid): (u32, u32),
    ) -> Result<Self, StepError> {
        let owner = fstat(directory).step(|| "read the owner of a directory")?;
        // SAFETY: the caller has one thread.
        let forked = unsafe { fork_into(libc::CLONE_NEWUSER, None) }
            .step_of(StepKind::UserNamespace, || "create a user namespace")?;
        let ForkResult::Parent { pid, pidfd } = forked else { wait_to_be_killed() };
        let namespace =
            write_maps(&process_view.join(pid.to_string()), (owner.st_uid, uid), (owner.st_gid, gid));
        // The process is not needed once its namespace is open.
        pidfd_send_signal(&pidfd, Signal::KILL).step(|| "end the holder of a user namespace")?;
        waitpid(Pid::from_raw(pid), WaitOptions::empty()).step(|| "reap the holder of a user namespace")?;
        namespace
            .map(|namespace| Self { namespace })
            .step_of(StepKind::MapOwner, || "map the owner of a directory")
    }

    /// The namespace, for `mount_setattr`.
    pub fn namespace(&self) -> BorrowedFd<'_> {
        self.namespace.as_fd()
    }
}

fn write_maps(process: &Path, user: (u32, u32), group: (u32, u32)) -> io::Result<OwnedFd> {
    fs::write(process.join("uid_map"), map_text(user.0, user.1))?;
    fs::write(process.join("gid_map"), map_text(group.0, group.1))?;
    Ok(fs::File::open(process.join("ns/user"))?.into())
}

/// Maps one id to its target and all others to unused ids.
fn map_text(owner: u32, mapped: u32) -> String {
    if owner >= RANGE {
        return format!("{owner} {mapped} 1\n0 {UNUSED_IDS} {RANGE}\n");
    }
    let below = if owner > 0 { format!("0 {UNUSED_IDS} {owner}\n") } else { String::new() };
    let next = owner + 1;
    format!("{owner} {mapped} 1\n{below}{next} {} {}\n", UNUSED_IDS + next, RANGE - next)
}

fn wait_to_be_killed() -> ! {
    loop {
        // SAFETY: pause(2) has no arguments and touches no memory.
        unsafe { libc::pause() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_mapped_exactly_once() {
        assert_eq!(map_text(0, 7), format!("0 7 1\n1 {} {}\n", UNUSED_IDS + 1, RANGE - 1));
        assert_eq!(
            map_text(1000, 7),
            format!("1000 7 1\n0 {UNUSED_IDS} 1000\n1001 {} {}\n", UNUSED_IDS + 1001, RANGE - 1001)
        );
        assert_eq!(map_text(RANGE + 5, 7), format!("{} 7 1\n0 {UNUSED_IDS} {RANGE}\n", RANGE + 5));
    }
}
