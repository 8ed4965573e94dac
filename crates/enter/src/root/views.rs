//! What the kernel shows of itself: `/proc` of the sandbox's own processes, and its own pseudo-terminals.

use std::path::Path;

use rustix::mount::MountFlags;

use crate::StepError;
use crate::mount::{BindAccess, bind, bind_again, virtual_file_system};

/// Files in `/proc` that tell about the host or command it. Most of them also need rights that nobody inside has; an
/// empty file does not depend on that.
const MASKED: [&str; 9] = [
    "cmdline",
    "interrupts",
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "sysrq-trigger",
    "timer_list",
];

/// Mounts `/proc` of this process's process namespace, in which a process sees only those of its own user.
pub fn mount_process_view(root: &Path) -> Result<(), StepError> {
    mount_full_process_view(root)?;
    mask_process_view(root)
}

/// Hides what is not for anybody inside in a `/proc` that is mounted.
pub fn mask_process_view(root: &Path) -> Result<(), StepError> {
    let target = root.join("proc");
    for name in MASKED {
        let file = target.join(name);
        // Which of them exist depends on how the kernel was built.
        if file.exists() {
            bind_again(&root.join("dev/null"), &file)?;
        }
    }
    // Some knobs belong to whoever owns the namespace: without root that is the sandbox's user, by another name.
    bind(&target.join("sys"), &target.join("sys"), BindAccess::ReadOnly)
}

/// The same with nothing masked. The kernel lets a process in a user namespace mount `/proc` only where it could see a
/// whole one before, so this is what the children of a zygote need below their own.
pub fn mount_full_process_view(root: &Path) -> Result<(), StepError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    virtual_file_system("proc", &root.join("proc"), flags, "hidepid=invisible")
}

/// Mounts pseudo-terminals that no other sandbox and not the host shares.
pub fn mount_terminals(root: &Path) -> Result<(), StepError> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    virtual_file_system("devpts", &root.join("dev/pts"), flags, "newinstance,ptmxmode=0666,mode=0620")
}
