//! One group for each sandbox, in a group for each process of menace, in every hierarchy that is needed.
//!
//! A directory costs 30 to 60 µs, so there is one for each distinct hierarchy that somebody asked for and no other; a
//! freezer is added only when a sandbox is paused.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use menace_model::sandbox::{Controller, Limits};
use rustix::fs::{Mode, OFlags};

use super::discover::{Availability, CONTROLLERS, Hierarchies, Version, v1_name};
use super::error::CgroupError;
use super::{files, kill, limits};

/// What every directory of ours begins with, next to groups that are not ours.
pub(super) const PREFIX: &str = "menace-";
/// How long a kill or a removal may take before it is an error.
const PATIENCE: Duration = Duration::from_secs(3);
/// The same when somebody forgot the group, and the thread that drops it may have other work.
const PATIENCE_OF_DROP: Duration = Duration::from_millis(200);

/// The parent of all groups of this process. It is gone with the last of them.
#[derive(Debug, Clone)]
pub(crate) struct OwnerGroup(Arc<Owner>);

#[derive(Debug)]
pub(super) struct Owner {
    pub(super) hierarchies: Hierarchies,
    directory_name: String,
    /// For each hierarchy the directory, once it was needed.
    made: Mutex<Vec<Option<PathBuf>>>,
}

/// The group of one sandbox. Dropping it kills and removes what is left, without waiting long and without a report.
#[derive(Debug)]
pub(crate) struct Group {
    pub(super) owner: Arc<Owner>,
    id: String,
    /// Where every process of the group is from its start.
    pub(super) directories: Vec<Directory>,
    /// Where processes are moved when they are stopped for the first time, if that is elsewhere.
    pub(super) freezer: Mutex<Option<Directory>>,
    /// The file through which the peak of memory was reset; version 2 resets it for this one reader.
    pub(super) peak: Mutex<Option<fs::File>>,
    clone_into: Option<OwnedFd>,
    removed: AtomicBool,
}

/// The group in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) hierarchy: usize,
    pub(super) version: Version,
    pub(super) path: PathBuf,
}

impl Hierarchies {
    /// The parent of the groups of this process, `menace-<name>`. The name must be of this process alone: its id and
    /// start time. Nothing is made before the first group.
    pub(crate) fn owner_group(&self, name: &str) -> Result<OwnerGroup, CgroupError> {
        Ok(OwnerGroup(Arc::new(Owner {
            hierarchies: self.clone(),
            directory_name: owner_directory(name)?,
            made: Mutex::new(vec![None; self.usable.len()]),
        })))
    }
}

impl OwnerGroup {
    /// Makes a group with the limits. The controllers in `needs` are there as well, to count; like limits they must be
    /// available.
    pub(crate) fn create(
        &self,
        id: &str,
        limits: &Limits,
        needs: &[Controller],
    ) -> Result<Group, CgroupError> {
        check_name(id)?;
        let controllers = self.0.controllers_for(limits, needs)?;
        let mut group = Group {
            owner: Arc::clone(&self.0),
            id: id.to_owned(),
            directories: Vec::with_capacity(controllers.len()),
            freezer: Mutex::new(None),
            peak: Mutex::new(None),
            clone_into: None,
            removed: AtomicBool::new(false),
        };
        for (controller, hierarchy) in controllers {
            // An error drops the group, which removes the directories before this one.
            if group.directory_in(hierarchy).is_none() {
                let directory = self.0.make_group(hierarchy, id)?;
                group.directories.push(directory);
            }
            let directory = group.directory_in(hierarchy).expect("it was made above");
            limits::write(controller, directory.version, &directory.path, limits)?;
        }
        group.clone_into = group.open_for_clone()?;
        Ok(group)
    }

    /// Removes the parent directories. All groups must have been removed before.
    pub(crate) fn remove(&self) -> Result<(), CgroupError> {
        let mut made = lock(&self.0.made);
        for directory in made.iter_mut() {
            if let Some(path) = directory {
                remove_directory(path, PATIENCE)?;
            }
            *directory = None;
        }
        Ok(())
    }
}

impl Owner {
    /// The controllers that a group needs, each with its hierarchy; at least one, or nothing could be killed.
    fn controllers_for(
        &self,
        limits: &Limits,
        needs: &[Controller],
    ) -> Result<Vec<(Controller, usize)>, CgroupError> {
        let mut found = Vec::with_capacity(CONTROLLERS.len());
        for (controller, limit) in limits::needed_for(limits) {
            let hierarchy = self
                .hierarchy_of(controller)
                .map_err(|reason| CgroupError::LimitUnavailable { limit, reason: reason.to_owned() })?;
            found.push((controller, hierarchy));
        }
        for &controller in needs {
            let hierarchy =
                self.hierarchy_of(controller).map_err(|reason| CgroupError::ControllerUnavailable {
                    controller: v1_name(controller),
                    reason: reason.to_owned(),
                })?;
            found.push((controller, hierarchy));
        }
        if found.is_empty() {
            let any = [Controller::Pids, Controller::CpuAccounting, Controller::Freezer, Controller::Memory]
                .into_iter()
                .find_map(|controller| Some((controller, self.hierarchy_of(controller).ok()?)));
            found.push(any.ok_or_else(|| CgroupError::NoHierarchy {
                reason: self.hierarchy_of(Controller::Pids).err().unwrap_or_default().to_owned(),
            })?);
        }
        Ok(found)
    }

    pub(super) fn hierarchy_of(&self, controller: Controller) -> Result<usize, &str> {
        match self.hierarchies.availability(controller) {
            Availability::Available { hierarchy, .. } => Ok(*hierarchy),
            Availability::Unavailable { reason } => Err(reason),
        }
    }

    /// Makes the directory of a group in one hierarchy, and the parent before if it is the first.
    pub(super) fn make_group(&self, hierarchy: usize, id: &str) -> Result<Directory, CgroupError> {
        let path = self.parent(hierarchy)?.join(id);
        fs::create_dir(&path).map_err(|source| CgroupError::Create { path: path.clone(), source })?;
        Ok(Directory { hierarchy, version: self.hierarchies.usable[hierarchy].version, path })
    }

    fn parent(&self, hierarchy: usize) -> Result<PathBuf, CgroupError> {
        let mut made = lock(&self.made);
        if let Some(path) = &made[hierarchy] {
            return Ok(path.clone());
        }
        let place = &self.hierarchies.usable[hierarchy];
        enable(&place.base, &place.enable)?;
        let path = place.base.join(&self.directory_name);
        fs::create_dir(&path).map_err(|source| CgroupError::Create { path: path.clone(), source })?;
        made[hierarchy] = Some(path.clone());
        enable(&path, &place.enable)?;
        Ok(path)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        for path in lock(&self.made).iter().flatten() {
            if let Err(error) = remove_directory(path, Duration::ZERO) {
                tracing::warn!("{error}");
            }
        }
    }
}

impl Group {
    /// What it is called inside the owner.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Files through which a process joins by [`enter`], one for each v1 hierarchy. They are opened now, so that a
    /// process without any right to them can use them. The v2 hierarchy is joined by [`Group::clone_into`].
    pub(crate) fn join_descriptors(&self) -> Result<Vec<OwnedFd>, CgroupError> {
        self.all_directories()
            .iter()
            .filter(|directory| directory.version == Version::V1)
            .map(|directory| open_for_joining(&directory.path.join("tasks")))
            .collect()
    }

    /// The same for a process that was not cloned into the v2 group. Moving a process there takes a lock of the whole
    /// system, for up to 20 ms, so this is for those that cannot be cloned.
    pub(crate) fn late_join_descriptors(&self) -> Result<Vec<OwnedFd>, CgroupError> {
        let mut descriptors = self.join_descriptors()?;
        for directory in self.all_directories() {
            if directory.version == Version::V2 {
                descriptors.push(open_for_joining(&directory.path.join("cgroup.procs"))?);
            }
        }
        Ok(descriptors)
    }

    /// The directory for `clone3` with `CLONE_INTO_CGROUP`, where the group has a v2 part.
    pub(crate) fn clone_into(&self) -> Option<BorrowedFd<'_>> {
        self.clone_into.as_ref().map(|descriptor| descriptor.as_fd())
    }

    /// Kills every process of the group and waits until none is left. The group can be used further.
    pub(crate) fn kill(&self) -> Result<(), CgroupError> {
        self.kill_within(PATIENCE)
    }

    /// Removes the group, which must have no processes. What is gone already is no error.
    pub(crate) fn remove(&self) -> Result<(), CgroupError> {
        self.remove_within(PATIENCE)
    }

    /// The group in the hierarchy of a controller, if every process is in it from its start.
    pub(super) fn directory_of(&self, controller: Controller) -> Option<&Directory> {
        self.directory_in(self.owner.hierarchy_of(controller).ok()?)
    }

    /// Also the one that was added to stop the processes.
    pub(super) fn all_directories(&self) -> Vec<Directory> {
        self.directories.iter().chain(lock(&self.freezer).as_ref()).cloned().collect()
    }

    fn directory_in(&self, hierarchy: usize) -> Option<&Directory> {
        self.directories.iter().find(|directory| directory.hierarchy == hierarchy)
    }

    fn kill_within(&self, patience: Duration) -> Result<(), CgroupError> {
        let freezer_is_needed =
            !kill::can_stop_forks(&self.directories) && self.owner.hierarchy_of(Controller::Freezer).is_ok();
        if freezer_is_needed && let Err(error) = self.stop_all() {
            // The processes are killed all the same, and whether any survives is asked at the end.
            tracing::debug!("{error}");
        }
        kill::kill_all(&self.all_directories(), patience)
    }

    fn remove_within(&self, patience: Duration) -> Result<(), CgroupError> {
        for directory in self.all_directories() {
            remove_directory(&directory.path, patience)?;
        }
        self.removed.store(true, Ordering::Release);
        Ok(())
    }

    fn open_for_clone(&self) -> Result<Option<OwnedFd>, CgroupError> {
        let Some(unified) = self.directories.iter().find(|directory| directory.version == Version::V2) else {
            return Ok(None);
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&unified.path, flags, Mode::empty())
            .map_err(|error| CgroupError::read(&unified.path)(error.into()))?;
        Ok(Some(opened))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.removed.load(Ordering::Acquire) {
            return;
        }
        let ended = self.kill_within(PATIENCE_OF_DROP).and_then(|()| self.remove_within(PATIENCE_OF_DROP));
        if let Err(error) = ended {
            tracing::warn!("{error}");
        }
    }
}

/// Brings the calling process into the groups. It allocates nothing, so a child may call it between fork and exec.
///
/// A process that writes 0 to `tasks` moves itself alone; the kernel then needs neither the lock on all thread groups
/// nor to wait for an RCU grace period. For that the process must have one thread.
pub(crate) fn enter(descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    for descriptor in descriptors {
        rustix::io::write(descriptor, b"0")?;
    }
    Ok(())
}

/// The name of the directory of an owner.
pub(super) fn owner_directory(name: &str) -> Result<String, CgroupError> {
    check_name(name)?;
    Ok(format!("{PREFIX}{name}"))
}

/// Removes a directory of ours. The kernel says busy for a moment after the last process ended.
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
    // What is behind these locks is whole after every statement, so a panic elsewhere does not spoil it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn check_name(name: &str) -> Result<(), CgroupError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    // The files of the kernel have a dot, so a name that begins with a word and a dot could be one of them.
    if name.is_empty() || name.starts_with('.') || !name.bytes().all(allowed) {
        return Err(CgroupError::Name { name: name.to_owned() });
    }
    Ok(())
}

/// Gives controllers of a v2 group to the groups in it.
fn enable(directory: &Path, controllers: &[&'static str]) -> Result<(), CgroupError> {
    if controllers.is_empty() {
        return Ok(());
    }
    let path = directory.join("cgroup.subtree_control");
    let enabled = files::read(&path)?;
    let missing: Vec<String> = controllers
        .iter()
        .filter(|name| !enabled.split_whitespace().any(|other| other == **name))
        .map(|name| format!("+{name}"))
        .collect();
    if missing.is_empty() { Ok(()) } else { files::write(&path, &missing.join(" ")) }
}

fn open_for_joining(path: &Path) -> Result<OwnedFd, CgroupError> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|error| CgroupError::write(path, "0")(error.into()))
}
