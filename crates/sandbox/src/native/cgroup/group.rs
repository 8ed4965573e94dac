//! Control group of one sandbox: joining, killing and removing it.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use menace_model::sandbox::{ResourceController, SandboxLimits};
use rustix::fs::{Mode, OFlags};

use super::discover::CgroupVersion;
use super::error::CgroupError;
use super::owner::CgroupOwner;
use super::{files, kill, limits};

/// Maximum time of a kill or a removal before it is an error.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
/// The same for a dropped group: the thread that drops it may have other work.
const PATIENCE_OF_DROP: Duration = Duration::from_millis(200);

/// Control group of one sandbox. Dropping it kills and removes what is left, with a short timeout, and only logs errors.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    pub(super) owner: Arc<CgroupOwner>,
    id: String,
    /// Directories that every process of the group joins at its start.
    pub(super) directories: Vec<CgroupDirectory>,
    /// Directory of the freezer to which processes are moved at the first pause, if it is in another hierarchy.
    pub(super) freezer: Mutex<Option<CgroupDirectory>>,
    /// File through which the memory peak was reset; cgroup v2 resets it for this one reader.
    pub(super) peak: Mutex<Option<fs::File>>,
    clone_into: Option<OwnedFd>,
    removed: AtomicBool,
}

/// Directory of a group in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CgroupDirectory {
    pub(super) hierarchy: usize,
    pub(super) version: CgroupVersion,
    pub(super) path: PathBuf,
}

impl ControlGroup {
    /// Group without directories.
    pub(super) fn empty(owner: Arc<CgroupOwner>, id: &str) -> Self {
        Self {
            owner,
            id: id.to_owned(),
            directories: Vec::new(),
            freezer: Mutex::new(None),
            peak: Mutex::new(None),
            clone_into: None,
            removed: AtomicBool::new(false),
        }
    }

    /// Name below the owner's directory.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Files through which a process joins by [`enter`], one for each v1 hierarchy. They are opened here, so that a
    /// process without permission to open them can use them. The v2 hierarchy is joined by [`ControlGroup::clone_into`].
    pub(crate) fn join_descriptors(&self) -> Result<Vec<OwnedFd>, CgroupError> {
        self.all_directories()
            .iter()
            .filter(|directory| directory.version == CgroupVersion::V1)
            .map(|directory| open_for_joining(&directory.path.join("tasks")))
            .collect()
    }

    /// The same for a process that was not cloned into the v2 group. Moving a process there takes a system-wide lock
    /// for up to 20 ms, so this is only for processes that cannot be cloned into it.
    pub(crate) fn late_join_descriptors(&self) -> Result<Vec<OwnedFd>, CgroupError> {
        let mut descriptors = self.join_descriptors()?;
        for directory in self.all_directories() {
            if directory.version == CgroupVersion::V2 {
                descriptors.push(open_for_joining(&directory.path.join("cgroup.procs"))?);
            }
        }
        Ok(descriptors)
    }

    /// Directory for `clone3` with `CLONE_INTO_CGROUP`, where the group has a v2 part.
    pub(crate) fn clone_into(&self) -> Option<BorrowedFd<'_>> {
        self.clone_into.as_ref().map(|descriptor| descriptor.as_fd())
    }

    /// Changes limits; those without a value stay as they are.
    pub(crate) fn change(&self, limits: &SandboxLimits) -> Result<(), CgroupError> {
        for (controller, limit) in limits::needed_for(limits) {
            let directory = self.directory_of(controller).ok_or_else(|| CgroupError::LimitUnavailable {
                limit,
                reason: "the sandbox was created without this controller".into(),
            })?;
            limits::change(controller, directory.version, &directory.path, limits)?;
        }
        Ok(())
    }

    /// Kills every process of the group and waits until none is left. The group stays usable.
    pub(crate) fn kill(&self) -> Result<(), CgroupError> {
        self.kill_within(PATIENCE)
    }

    /// Removes the group, which must have no processes. A missing directory is not an error.
    pub(crate) fn remove(&self) -> Result<(), CgroupError> {
        self.remove_within(PATIENCE)
    }

    /// Directory in the hierarchy of a controller, if every process joins it at its start.
    pub(super) fn directory_of(&self, controller: ResourceController) -> Option<&CgroupDirectory> {
        self.directory_in(self.owner.hierarchy_of(controller).ok()?)
    }

    /// All directories, including that of a freezer added at the first pause.
    pub(super) fn all_directories(&self) -> Vec<CgroupDirectory> {
        self.directories.iter().chain(lock(&self.freezer).as_ref()).cloned().collect()
    }

    pub(super) fn directory_in(&self, hierarchy: usize) -> Option<&CgroupDirectory> {
        self.directories.iter().find(|directory| directory.hierarchy == hierarchy)
    }

    fn kill_within(&self, patience: Duration) -> Result<(), CgroupError> {
        kill::kill_all(&self.all_directories(), patience)
    }

    fn remove_within(&self, patience: Duration) -> Result<(), CgroupError> {
        for directory in self.all_directories() {
            remove_directory(&directory.path, patience)?;
        }
        self.removed.store(true, Ordering::Release);
        Ok(())
    }

    /// Opens the directory for [`ControlGroup::clone_into`], after all directories were created.
    pub(super) fn open_for_clone(&mut self) -> Result<(), CgroupError> {
        let Some(unified) = self.directories.iter().find(|directory| directory.version == CgroupVersion::V2)
        else {
            return Ok(());
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&unified.path, flags, Mode::empty())
            .map_err(|error| CgroupError::read(&unified.path)(error.into()))?;
        self.clone_into = Some(opened);
        Ok(())
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // Without a directory it was never created.
        if self.removed.load(Ordering::Acquire) || self.directories.is_empty() {
            return;
        }
        let ended = self.kill_within(PATIENCE_OF_DROP).and_then(|()| self.remove_within(PATIENCE_OF_DROP));
        if let Err(error) = ended {
            tracing::warn!("{error}");
        }
    }
}

/// Moves the calling process into the groups. It allocates nothing, so a child may call it between fork and exec.
///
/// A process that writes 0 to `tasks` moves itself alone; the kernel then needs neither the lock on all thread groups
/// nor an RCU grace period. The process must be single-threaded.
pub(crate) fn enter(descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    for descriptor in descriptors {
        rustix::io::write(descriptor, b"0")?;
    }
    Ok(())
}

/// Removes a directory of ours. The kernel returns EBUSY for a moment after the last process ended.
pub(super) fn remove_directory(path: &Path, patience: Duration) -> Result<(), CgroupError> {
    let busy = || CgroupError::Remove { path: path.to_owned(), source: io::ErrorKind::ResourceBusy.into() };
    let removed = files::poll(patience, || match fs::remove_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(false),
        Err(source) => Err(CgroupError::Remove { path: path.to_owned(), source }),
    })?;
    if removed { Ok(()) } else { Err(busy()) }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The values behind these locks are consistent after every statement, so a panic elsewhere does not corrupt them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open_for_joining(path: &Path) -> Result<OwnedFd, CgroupError> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|error| CgroupError::write(path, "0")(error.into()))
}
