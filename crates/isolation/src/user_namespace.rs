//! User namespaces with one user in them.
//!
//! A process may map its own id without any privilege, so one mechanism serves root and ordinary users. The namespace
//! of the sandbox is entered *after* the mounts were made and the other namespaces were created: those belong to the
//! parent namespace, and no process in the sandbox can ever have a capability over them.

use std::fs;
use std::io;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::UnshareFlags;

use crate::{StepContext, StepError, StepKind};

/// Enters a new user namespace in which the caller is `uid` and `gid`, with every capability over it.
pub fn enter(uid: u32, gid: u32) -> Result<(), StepError> {
    let outside = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // SAFETY: a new user namespace changes the ids and capabilities of this process alone, which has one thread (the
    // kernel refuses otherwise) and holds no state that depends on them.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }
        .step_of(StepKind::UserNamespace, || "create a user namespace")?;
    write_maps((uid, gid), outside)
}

/// Writes the id maps of the namespace of this process, which is possible once.
pub fn write_maps((uid, gid): (u32, u32), outside: (u32, u32)) -> Result<(), StepError> {
    // After a change of user the kernel assigns the files in /proc/self to root, and the maps could not be written.
    set_dumpable_behavior(DumpableBehavior::Dumpable).step(|| "become dumpable")?;
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{uid} {} 1", outside.0))?;
    write("/proc/self/gid_map", &format!("{gid} {} 1", outside.1))
}

fn write(path: &str, text: &str) -> Result<(), StepError> {
    // One write: the kernel accepts a map in one piece, and only once.
    let result: io::Result<()> = fs::write(path, text);
    result.step_of(StepKind::UserNamespace, || format!("write {path}"))
}
