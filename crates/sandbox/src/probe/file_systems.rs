//! Probes of the file systems that a sandbox mounts: each is mounted and used for its purpose.

use std::fs;
use std::io::Write;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::UnshareFlags;

use super::failure::{ProbeFailure, step_failed, syscall_failed};
use super::namespaces::{ProbedNamespace, enter};
use super::process::continue_in_child;
use super::user_namespace::unshare;

/// Mount point of the probes. `/proc` always exists, since without it no user namespace gets its maps. Only the mount
/// namespace of the child sees it covered.
const MOUNT_POINT: &str = "/proc";

/// Mounts a tmpfs and fills it up to its size.
pub(super) fn tmpfs() -> Result<String, ProbeFailure> {
    enter_mount_namespace()?;
    mount_tmpfs(c"size=64k")?;
    let mut file = fs::File::create(Path::new(MOUNT_POINT).join("file"))
        .map_err(step_failed("create a file in tmpfs"))?;
    file.write_all(&[1; 4096]).map_err(step_failed("write to tmpfs"))?;
    match file.write_all(&vec![1; 128 * 1024]) {
        Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {
            Ok("mounted, written, and full at its size limit".to_owned())
        }
        Err(error) => Err(step_failed("fill tmpfs")(error)),
        Ok(()) => Err(ProbeFailure::Ineffective {
            step: "a size limit of 64 KiB",
            observed: "132 KiB could be written".to_owned(),
        }),
    }
}

/// Mounts an overlay and changes a file through it; the lower layer must stay unchanged.
pub(super) fn overlayfs() -> Result<String, ProbeFailure> {
    enter_mount_namespace()?;
    mount_tmpfs(c"size=1m")?;
    let base = Path::new(MOUNT_POINT);
    for name in ["lower", "upper", "work", "merged"] {
        fs::create_dir(base.join(name)).map_err(step_failed(format!("create the directory {name}")))?;
    }
    fs::write(base.join("lower/file"), "below").map_err(step_failed("write the lower layer"))?;
    let options = c"lowerdir=/proc/lower,upperdir=/proc/upper,workdir=/proc/work,userxattr";
    mount("overlay", base.join("merged"), "overlay", MountFlags::empty(), options)
        .map_err(explain_overlay)?;
    fs::write(base.join("merged/file"), "above").map_err(step_failed("write through the overlay"))?;
    let read = |name: &str| fs::read_to_string(base.join(name)).map_err(step_failed(format!("read {name}")));
    let (lower, upper) = (read("lower/file")?, read("upper/file")?);
    if (lower.as_str(), upper.as_str()) != ("below", "above") {
        return Err(ProbeFailure::Ineffective {
            step: "writing through the overlay",
            observed: format!("the lower layer has {lower:?}, the upper one {upper:?}"),
        });
    }
    Ok("mounted with userxattr on tmpfs, and written through".to_owned())
}

fn explain_overlay(errno: Errno) -> ProbeFailure {
    match errno {
        Errno::NODEV => ProbeFailure::Explained {
            reason: "the kernel has no overlayfs".to_owned(),
            remedy: "modprobe overlay, or a kernel with CONFIG_OVERLAY_FS".to_owned(),
        },
        Errno::PERM | Errno::INVAL => ProbeFailure::Explained {
            reason: format!("overlayfs cannot be mounted in a user namespace: {errno}"),
            remedy: "Linux 5.11 or newer".to_owned(),
        },
        _ => syscall_failed("mount an overlay")(errno),
    }
}

/// Mounts a proc file system that shows only the processes of a new pid namespace.
pub(super) fn proc() -> Result<String, ProbeFailure> {
    enter(ProbedNamespace::Pid)?;
    continue_in_child()?;
    unshare(UnshareFlags::NEWNS).map_err(syscall_failed("create a mount namespace"))?;
    make_mounts_private()?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", MOUNT_POINT, "proc", flags, c"hidepid=2").map_err(explain_proc)?;
    let own = fs::read_link("/proc/self").map_err(step_failed("read /proc/self"))?;
    if own != Path::new("1") {
        return Err(ProbeFailure::Ineffective {
            step: "mounting proc",
            observed: format!("/proc/self is {}", own.display()),
        });
    }
    Ok("mounted with hidepid in a new pid namespace".to_owned())
}

fn explain_proc(errno: Errno) -> ProbeFailure {
    match errno {
        Errno::PERM => ProbeFailure::Explained {
            reason: "proc cannot be mounted in a user namespace: parts of this /proc are covered, as in containers"
                .to_owned(),
            remedy: "start the container with --security-opt systempaths=unconfined, or privileged".to_owned(),
        },
        _ => syscall_failed("mount proc")(errno),
    }
}

/// Enters a new user and mount namespace whose mounts do not propagate back.
fn enter_mount_namespace() -> Result<(), ProbeFailure> {
    enter(ProbedNamespace::Mount)?;
    make_mounts_private()
}

fn make_mounts_private() -> Result<(), ProbeFailure> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(syscall_failed("make all mounts private"))
}

fn mount_tmpfs(options: &std::ffi::CStr) -> Result<(), ProbeFailure> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", MOUNT_POINT, "tmpfs", flags, options).map_err(syscall_failed("mount tmpfs"))
}
