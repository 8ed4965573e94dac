//! Probe of idmapped mounts: the same files with other owners. Only the host's root may create them.

use std::fs;
use std::os::fd::AsFd;

use menace_isolation::mount::map_owners;
use rustix::fs::{AtFlags, CWD, fstatfs, statat};
use rustix::io::{Errno, retry_on_intr};
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::pipe::pipe;
use rustix::process::{Pid, geteuid};
use rustix::thread::UnshareFlags;

use super::failure::{ProbeFailure, step_failed, syscall_failed};
use super::process::{ForkSide, fork, wait};
use super::user_namespace::unshare;

/// Owner of the probed files through the mount.
const MAPPED_USER: u32 = 100_000;

/// Clones the mount of `/` with another owner for its files and checks the owner. The clone is attached nowhere.
pub(super) fn idmapped_mounts() -> Result<String, ProbeFailure> {
    if !geteuid().is_root() {
        return Err(ProbeFailure::Absent { what: "only the host's root may create them".to_owned() });
    }
    let owner = statat(CWD, "/", AtFlags::empty()).map_err(syscall_failed("stat /"))?.st_uid;
    let namespace = user_namespace_that_maps(owner)?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(CWD, "/", flags).map_err(syscall_failed("clone the mount of /"))?;
    map_owners(&tree, namespace.as_fd()).map_err(|error| {
        syscall_failed("mount_setattr with MOUNT_ATTR_IDMAP")(
            Errno::from_io_error(&error).unwrap_or(Errno::IO),
        )
    })?;
    let mapped = statat(&tree, "", AtFlags::EMPTY_PATH).map_err(syscall_failed("stat the clone"))?.st_uid;
    if mapped != MAPPED_USER {
        return Err(ProbeFailure::Ineffective {
            step: "mount_setattr",
            observed: format!("the owner of / is {mapped} instead of {MAPPED_USER}"),
        });
    }
    let kind = fstatfs(&tree).map_err(syscall_failed("query the file system of /"))?.f_type;
    Ok(format!("the file system of / (type {kind:#x}) was cloned with another owner"))
}

/// Creates a user namespace in which `owner` is [`MAPPED_USER`] outside. A child creates it and lives until its maps
/// are written.
fn user_namespace_that_maps(owner: u32) -> Result<fs::File, ProbeFailure> {
    let (made_reader, made_writer) = pipe().map_err(syscall_failed("create a pipe"))?;
    let (done_reader, done_writer) = pipe().map_err(syscall_failed("create a pipe"))?;
    match fork()? {
        ForkSide::Child => {
            drop((made_reader, done_writer));
            let code = match unshare(UnshareFlags::NEWUSER) {
                Ok(()) => i32::from(rustix::io::write(&made_writer, b"m").is_err()),
                Err(errno) => errno.raw_os_error(),
            };
            drop(made_writer);
            // Blocks until the parent closes its end.
            let _ = retry_on_intr(|| rustix::io::read(&done_reader, &mut [0]));
            std::process::exit(code)
        }
        ForkSide::Parent(child) => {
            drop((made_writer, done_reader));
            let made = retry_on_intr(|| rustix::io::read(&made_reader, &mut [0]));
            let namespace = (made == Ok(1)).then(|| write_maps(child, owner));
            drop(done_writer);
            let code = wait(child)?.exit_status().unwrap_or_default();
            namespace.unwrap_or_else(|| {
                Err(syscall_failed("create a user namespace")(Errno::from_raw_os_error(code)))
            })
        }
    }
}

fn write_maps(child: Pid, owner: u32) -> Result<fs::File, ProbeFailure> {
    let directory = format!("/proc/{}", child.as_raw_nonzero());
    for map in ["uid_map", "gid_map"] {
        let path = format!("{directory}/{map}");
        fs::write(&path, format!("{owner} {MAPPED_USER} 1")).map_err(step_failed(format!("write {path}")))?;
    }
    let path = format!("{directory}/ns/user");
    fs::File::open(&path).map_err(step_failed(format!("open {path}")))
}
