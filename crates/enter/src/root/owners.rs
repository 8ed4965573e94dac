//! Who owns the files of a host directory as seen from a sandbox.
//!
//! As root, sandboxes run as an unprivileged user of the host, who may not read a private file of root's and may not
//! write at all. A mapped mount shows the files of the directory's owner as files of the sandbox's user.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::fstat;
use rustix::process::{Pid, Signal, WaitOptions, pidfd_send_signal, waitpid};

use crate::clone::{Forked, fork_into};
use crate::{Step, StepError};

/// Ids of the host that nobody has: what is owned by anybody but the directory's owner is shown as theirs.
const NOBODYS_RANGE: u32 = 0x7000_0000;
/// How many ids are mapped. More than any system gives out by default.
const RANGE: u32 = 0x00ff_0000;

/// A user namespace that maps a directory's owner to a user of the host.
#[derive(Debug)]
pub struct OwnerMap {
    namespace: OwnedFd,
}

impl OwnerMap {
    /// Maps the owner of a directory to a user and group. The process view is that of this process's own process
    /// namespace: in another one the number of a child belongs to somebody else.
    ///
    /// # Safety
    ///
    /// The calling process has one thread, because it forks.
    pub unsafe fn of(
        directory: &OwnedFd,
        process_view: &Path,
        (uid, gid): (u32, u32),
    ) -> Result<Self, StepError> {
        let owner = fstat(directory).step(|| "look at the owner of a directory")?;
        // SAFETY: the caller has one thread.
        let forked = unsafe { fork_into(libc::CLONE_NEWUSER, None) }.step(|| "create a user namespace")?;
        let Forked::Parent { pid, pidfd } = forked else { wait_to_be_killed() };
        let namespace =
            write_maps(&process_view.join(pid.to_string()), (owner.st_uid, uid), (owner.st_gid, gid));
        // It has served as soon as somebody holds its namespace.
        pidfd_send_signal(&pidfd, Signal::KILL).step(|| "end the holder of a user namespace")?;
        waitpid(Pid::from_raw(pid), WaitOptions::empty()).step(|| "reap the holder of a user namespace")?;
        namespace.map(|namespace| Self { namespace }).step(|| "map the owner of a directory")
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

/// One id to where it belongs, all others to ids that nobody has.
fn map_text(owner: u32, mapped: u32) -> String {
    if owner >= RANGE {
        return format!("{owner} {mapped} 1\n0 {NOBODYS_RANGE} {RANGE}\n");
    }
    let below = if owner > 0 { format!("0 {NOBODYS_RANGE} {owner}\n") } else { String::new() };
    let next = owner + 1;
    format!("{owner} {mapped} 1\n{below}{next} {} {}\n", NOBODYS_RANGE + next, RANGE - next)
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
    fn the_owner_and_everybody_else_are_mapped_once() {
        assert_eq!(map_text(0, 7), format!("0 7 1\n1 {} {}\n", NOBODYS_RANGE + 1, RANGE - 1));
        assert_eq!(
            map_text(1000, 7),
            format!("1000 7 1\n0 {NOBODYS_RANGE} 1000\n1001 {} {}\n", NOBODYS_RANGE + 1001, RANGE - 1001)
        );
        assert_eq!(map_text(RANGE + 5, 7), format!("{} 7 1\n0 {NOBODYS_RANGE} {RANGE}\n", RANGE + 5));
    }
}
