//! Mount operations, limited to the combinations that a sandbox needs.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount_change, move_mount,
    open_tree, unmount,
};

use crate::{StepContext, StepError, StepKind};

/// Access that a bind mount allows, in addition to `nosuid` and `nodev`, which every one has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindAccess {
    /// Read and execute.
    ReadOnly,
    /// Read, execute and write.
    ReadWrite,
    /// A device node: without `nodev`, which would make it unusable.
    Device,
}

/// Makes every mount private, so that changes here are not visible outside, and later changes outside are not visible
/// here.
pub fn make_everything_private() -> Result<(), StepError> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .step(|| "make mounts private")
}

/// Mounts a file system that has no device: tmpfs, proc, devpts, overlay.
pub fn virtual_file_system(
    kind: &str,
    target: &Path,
    flags: MountFlags,
    options: &str,
) -> Result<(), StepError> {
    let data = CString::new(options).map_err(|_| nul_byte(options))?;
    let step = match kind {
        "proc" => StepKind::MountProc,
        "overlay" => StepKind::MountOverlay,
        _ => StepKind::Other,
    };
    rustix::mount::mount(kind, target, kind, flags, Some(data.as_c_str()))
        .step_of(step, || format!("mount {kind} at {}", target.display()))
}

/// Creates a detached copy of a host directory or file with everything mounted below it.
pub fn detached(source: &Path, access: BindAccess) -> Result<OwnedFd, StepError> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let tree =
        open_tree(CWD, source, flags).step_of(StepKind::Open, || format!("open {}", source.display()))?;
    let attributes = match access {
        BindAccess::ReadOnly => MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        BindAccess::ReadWrite => MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
        BindAccess::Device => MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
    };
    set_attributes(tree.as_fd(), attributes, None).step(|| format!("restrict {}", source.display()))?;
    Ok(tree)
}

/// Attaches a detached tree.
pub fn attach(tree: &OwnedFd, target: &Path) -> Result<(), StepError> {
    move_mount(tree, "", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .step(|| format!("attach a mount at {}", target.display()))
}

/// Attaches a detached tree at an open mount point. The path is for the error message.
pub fn attach_to(tree: &OwnedFd, mount_point: BorrowedFd, path: &Path) -> Result<(), StepError> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", mount_point, "", flags).step(|| format!("attach a mount at {}", path.display()))
}

/// Makes a host directory or file visible at another path.
pub fn bind(source: &Path, target: &Path, access: BindAccess) -> Result<(), StepError> {
    attach(&detached(source, access)?, target)
}

/// Makes a part of the sandbox visible at another path as well, with the restrictions of its mount. Unlike [`bind`]
/// it is one system call.
pub fn rebind(source: &Path, target: &Path) -> Result<(), StepError> {
    rustix::mount::mount_bind(source, target)
        .step(|| format!("bind {} to {}", source.display(), target.display()))
}

/// Maps the owner of the files of a detached tree through a user namespace.
pub fn map_owners(tree: &OwnedFd, user_namespace: BorrowedFd) -> io::Result<()> {
    set_attributes(tree.as_fd(), MOUNT_ATTR_IDMAP, Some(user_namespace))
}

/// Makes the mount at a path read-only, and not those below it.
pub fn make_read_only(path: &Path) -> Result<(), StepError> {
    let directory = open_tree(CWD, path, OpenTreeFlags::OPEN_TREE_CLOEXEC)
        .step_of(StepKind::Open, || format!("open {}", path.display()))?;
    mount_setattr(directory.as_fd(), 0, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, None)
        .step(|| format!("make {} read-only", path.display()))
}

/// Makes a mounted directory the root and unmounts the old one.
pub fn pivot(new_root: &Path) -> Result<(), StepError> {
    rustix::process::chdir(new_root).step(|| "enter the new root")?;
    // The old root is mounted on top of the new one and unmounted again, so it needs no directory.
    rustix::process::pivot_root(".", ".").step(|| "change the root")?;
    unmount(".", UnmountFlags::DETACH).step(|| "unmount the old root")?;
    rustix::process::chdir("/").step(|| "enter the new root")
}

/// Unmounts a path as soon as it is not in use.
pub fn detach(path: &Path) -> Result<(), StepError> {
    unmount(path, UnmountFlags::DETACH).step(|| format!("detach {}", path.display()))
}

const MOUNT_ATTR_RDONLY: u64 = 0x1;
const MOUNT_ATTR_NOSUID: u64 = 0x2;
const MOUNT_ATTR_NODEV: u64 = 0x4;
const MOUNT_ATTR_NOEXEC: u64 = 0x8;
const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;

fn set_attributes(tree: BorrowedFd, attributes: u64, user_namespace: Option<BorrowedFd>) -> io::Result<()> {
    mount_setattr(tree, libc::AT_RECURSIVE, attributes, user_namespace)
}

/// `mount_setattr(2)`, which rustix does not have. Unlike a remount it changes only the named attributes, and takes a
/// whole tree at once.
fn mount_setattr(
    tree: BorrowedFd,
    flags: libc::c_int,
    attributes: u64,
    user_namespace: Option<BorrowedFd>,
) -> io::Result<()> {
    #[repr(C)]
    struct MountAttributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    #[expect(clippy::cast_sign_loss, reason = "an open descriptor is not negative")]
    let request = MountAttributes {
        set: attributes,
        clear: 0,
        propagation: 0,
        user_namespace: user_namespace.map_or(0, |descriptor| descriptor.as_raw_fd() as u64),
    };
    // SAFETY: the path is an empty C string, the structure has the layout of `struct mount_attr` and the size that is
    // passed, and both live during the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | flags,
            &raw const request,
            size_of::<MountAttributes>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn nul_byte(text: &str) -> StepError {
    StepError { step: format!("pass {text:?} to the kernel"), kind: StepKind::Other, errno: libc::EINVAL }
}
