//! The writable part of a sandbox: one tmpfs whose size is the disk limit.
//!
//! A tmpfs has an exact limit, needs no rights that a user namespace does not give, costs 30 µs, and is removed with
//! the last process of the sandbox even if menace crashes. Its price is that files count as memory.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::MountFlags;
use serde::{Deserialize, Serialize};

use super::OwnerMap;
use super::tree::RootTree;
use crate::mount::{
    BindAccess, attach, attach_to, detach, detached, map_owners, rebind, virtual_file_system,
};
use crate::{StepContext, StepError, StepKind};

/// Options of the writable part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScratchOptions {
    /// Size in bytes.
    pub size: u64,
    /// Owner, in the user namespace in which it is mounted.
    pub owner: (u32, u32),
    /// Content of `/workspace`.
    pub workspace: WorkspaceBacking,
    /// Whether the mounts are made with the rights of the real root, which has to map the owner of host files.
    pub privileged: bool,
}

/// Content of `/workspace`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkspaceBacking {
    /// An empty directory.
    Empty,
    /// A host directory below a writable layer of the sandbox.
    CopyOnWrite(PathBuf),
    /// A host directory itself.
    ReadWrite(PathBuf),
    /// A host directory itself, read-only.
    ReadOnly(PathBuf),
}

/// The writable part. The descriptor is the only access to the layer itself; the sandbox sees only its mounts.
#[derive(Debug)]
pub struct ScratchSpace {
    /// Top directory, with `layer` (the changes of `/workspace`) and `tmp` in it.
    pub directory: OwnedFd,
    /// Optional steps that the file system of the workspace does not support.
    pub left_out: Vec<String>,
}

/// Directory of the layer.
const LAYER: &str = "layer";

impl ScratchSpace {
    /// Mounts the writable part below `root`, as `/workspace`, `/tmp` and `/dev/shm`. `/proc` is already mounted
    /// there.
    ///
    /// # Safety
    ///
    /// The calling process has one thread: mapping owners forks.
    pub unsafe fn mount(root: &Path, options: &ScratchOptions) -> Result<Self, StepError> {
        let base = root.join("run");
        let (uid, gid) = options.owner;
        virtual_file_system(
            "tmpfs",
            &base,
            MountFlags::NOSUID | MountFlags::NODEV,
            &format!(
                "mode=0755,uid={uid},gid={gid},size={},nr_inodes={}",
                options.size,
                files_in(options.size)
            ),
        )?;
        make(&base.join("tmp"), 0o1777, options.owner)?;
        make(&base.join("shm"), 0o1777, options.owner)?;
        make(&base.join(LAYER), 0o755, options.owner)?;
        rebind(&base.join("tmp"), &root.join("tmp"))?;
        rebind(&base.join("shm"), &root.join("dev/shm"))?;
        let workspace = root.join("workspace");
        let mut left_out = Vec::new();
        match &options.workspace {
            WorkspaceBacking::Empty => rebind(&base.join(LAYER), &workspace)?,
            WorkspaceBacking::ReadWrite(directory) => {
                // SAFETY: the caller has one thread.
                unsafe {
                    mount_host_path(
                        root,
                        directory,
                        Path::new("/workspace"),
                        BindAccess::ReadWrite,
                        options,
                    )?;
                };
            }
            WorkspaceBacking::ReadOnly(directory) => {
                // SAFETY: the caller has one thread.
                unsafe {
                    mount_host_path(root, directory, Path::new("/workspace"), BindAccess::ReadOnly, options)?;
                };
            }
            WorkspaceBacking::CopyOnWrite(directory) => {
                let lower = base.join("lower");
                make(&lower, 0o755, options.owner)?;
                // SAFETY: the caller has one thread.
                let (tree, mapped) =
                    unsafe { host_directory(root, directory, BindAccess::ReadOnly, options)? };
                left_out.extend(mapped.err().map(|error| error.to_string()));
                attach(&tree, &lower)?;
                mount_layer(&base, &lower, &workspace, options)?;
            }
        }
        let directory =
            openat(CWD, &base, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())
                .step(|| "open the writable part")?;
        detach(&base)?;
        Ok(Self { directory, left_out })
    }
}

/// Makes a host directory or file visible at `target`, a path inside the sandbox. A writable one has to belong to the
/// sandbox's user; a read-only one need not.
///
/// # Safety
///
/// The calling process has one thread.
pub unsafe fn mount_host_path(
    root: &Path,
    source: &Path,
    target: &Path,
    access: BindAccess,
    options: &ScratchOptions,
) -> Result<(), StepError> {
    // SAFETY: the caller has one thread.
    let (tree, mapped) = unsafe { host_directory(root, source, access, options)? };
    if access == BindAccess::ReadWrite {
        mapped?;
    }
    attach_to(&tree, RootTree::at(root)?.find(target)?.as_fd(), target)
}

/// Creates a copy of a host directory in which the files of its owner belong to the sandbox's user; the second result
/// says whether its file system supports that.
///
/// # Safety
///
/// The calling process has one thread.
unsafe fn host_directory(
    root: &Path,
    directory: &Path,
    access: BindAccess,
    options: &ScratchOptions,
) -> Result<(OwnedFd, Result<(), StepError>), StepError> {
    let tree = detached(directory, access)?;
    if !options.privileged {
        return Ok((tree, Ok(())));
    }
    // SAFETY: the caller has one thread.
    let owners = unsafe { OwnerMap::of(&tree, &root.join("proc"), options.owner)? };
    let mapped = map_owners(&tree, owners.namespace())
        .step_of(StepKind::MapOwner, || format!("map the owner of {}", directory.display()));
    Ok((tree, mapped))
}

fn mount_layer(base: &Path, lower: &Path, target: &Path, options: &ScratchOptions) -> Result<(), StepError> {
    let work = base.join("work");
    make(&work, 0o755, options.owner)?;
    virtual_file_system(
        "overlay",
        target,
        MountFlags::NOSUID | MountFlags::NODEV,
        &format!(
            // With `userxattr`, overlayfs stores its metadata in attributes that the sandbox's init process can read.
            "lowerdir={},upperdir={},workdir={},userxattr",
            lower.display(),
            base.join(LAYER).display(),
            work.display()
        ),
    )
}

/// Maximum number of files and directories. Without a limit, a tmpfs allows one for every second page of the
/// machine's memory, and an empty file uses none of its size but a kilobyte of kernel memory.
fn files_in(size: u64) -> u64 {
    (size / 2048).max(1024)
}

fn make(path: &Path, mode: u32, owner: (u32, u32)) -> Result<(), StepError> {
    fs::create_dir(path)
        .and_then(|()| chown(path, Some(owner.0), Some(owner.1)))
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode)))
        .step(|| format!("create the directory {}", path.display()))
}
