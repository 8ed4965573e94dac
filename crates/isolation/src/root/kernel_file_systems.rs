//! Kernel file systems: `/proc` of the sandbox's own processes, and its own pseudo-terminals.

use std::path::Path;

use rustix::mount::MountFlags;

use crate::StepError;
use crate::mount::{BindAccess, bind, rebind, virtual_file_system};

/// Files in `/proc` that reveal or control the host. Most of them also need rights that no process inside has; an
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

/// Mounts `/proc` of this process's process namespace, in which a process sees only processes of its own user.
pub fn mount_process_view(root: &Path) -> Result<(), StepError> {
    mount_full_process_view(root)?;
    mask_process_view(root)
}

/// Hides the files of a mounted `/proc` that the sandbox must not access.
pub fn mask_process_view(root: &Path) -> Result<(), StepError> {
    let target = root.join("proc");
    for name in MASKED {
        let file = target.join(name);
        // The kernel's configuration determines whether a file exists.
        if file.exists() {
            rebind(&root.join("dev/null"), &file)?;
        }
    }
    // Some settings belong to the owner of the namespace: without root that is the sandbox's user, under another id.
    bind(&target.join("sys"), &target.join("sys"), BindAccess::ReadOnly)
}

/// As `mount_process_view`, without masks. The kernel lets a process in a user namespace mount `/proc` only if a
/// complete one was visible before, so the children of a zygote need this below their own.
pub fn mount_full_process_view(root: &Path) -> Result<(), StepError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    virtual_file_system("proc", &root.join("proc"), flags, "hidepid=invisible")
}

/// Mounts pseudo-terminals that are shared neither with other sandboxes nor with the host.
pub fn mount_terminals(root: &Path) -> Result<(), StepError> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    virtual_file_system("devpts", &root.join("dev/pts"), flags, "newinstance,ptmxmode=0666,mode=0620")
}
