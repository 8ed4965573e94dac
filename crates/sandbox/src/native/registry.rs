//! Registry of live backends, so that the next backend finds and removes the stale resources of a killed one, and
//! nothing else.
//!
//! A backend has one directory, `<pid>-<start time>`, with a file that it keeps locked. The kernel gives up the lock
//! when the process dies, however it dies. Mounts and namespaces need no entry: they live in the namespaces of the
//! sandboxes and go with their processes.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::cgroup::{CgroupHierarchies, CgroupRecord};
use crate::SandboxError;

/// Registry entry of a live backend. Dropping it removes the entry, unless some of its resources could not be removed.
#[derive(Debug)]
pub(crate) struct BackendRegistration {
    name: String,
    directory: PathBuf,
    /// Locked for as long as this process lives.
    file: std::sync::Mutex<File>,
    entry: BackendRegistryEntry,
    is_kept: AtomicBool,
}

/// Content of a registry file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BackendRegistryEntry {
    version: u32,
    owner: ProcessIdentity,
    launcher: Option<ProcessIdentity>,
    /// Owner name of the sandboxes' cgroups: their parent directory in every hierarchy is `menace-<name>`.
    cgroup: String,
}

/// Identity of a process that distinguishes it from a later process with the same pid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ProcessIdentity {
    pid: u32,
    /// Start time in clock ticks since boot.
    started: u64,
    boot: String,
}

/// Number of backends that this process has started. Each has a name of its own, also those with a runtime directory of
/// their own: control groups are identified by the name alone.
static BACKENDS: AtomicU64 = AtomicU64::new(0);

const ENTRY_FILE: &str = "registry.json";

impl BackendRegistration {
    /// Removes the stale resources of dead owners and registers this process.
    pub(super) fn new(
        directory: Option<&Path>,
        hierarchies: &CgroupHierarchies,
    ) -> Result<Self, SandboxError> {
        let root = match directory {
            Some(directory) => directory.to_owned(),
            None => default_directory(),
        };
        let (registration, problems) =
            register(&root, hierarchies).map_err(|source| SandboxError::HostPath { path: root, source })?;
        // The next backend retries a failed removal; it must not stop this one.
        for problem in problems {
            tracing::warn!("{problem}");
        }
        Ok(registration)
    }

    /// Name of the owner, unique on this machine.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Directory for files of this owner, removed with the entry.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Adds the launcher to the entry.
    pub(super) fn record_launcher(&self, pid: u32) -> Result<(), SandboxError> {
        let mut entry = self.entry.clone();
        entry.launcher = Some(ProcessIdentity::of(pid).map_err(SandboxError::io("inspect the launcher"))?);
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        write(&mut file, &entry).map_err(SandboxError::io("write the registry"))
    }
}

impl CgroupRecord for BackendRegistration {
    fn keep(&self) {
        self.is_kept.store(true, Ordering::Release);
    }
}

impl Drop for BackendRegistration {
    fn drop(&mut self) {
        // Without its lock the entry counts as that of a dead owner, and the next backend cleans it up.
        if self.is_kept.load(Ordering::Acquire) {
            return;
        }
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::warn!("failed to remove {}: {error}", self.directory.display());
        }
    }
}

/// Result of a clean-up.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct NativeCleanUpReport {
    /// Dead owners whose resources were removed.
    pub owners: usize,
    /// Stale processes that were killed.
    pub processes: usize,
    /// Stale control groups that were removed.
    pub cgroups: usize,
    /// Removals that failed, one message each.
    pub problems: Vec<String>,
}

/// Removes the stale resources of dead owners, in the default directory or in the given one.
pub fn clean_up(directory: Option<&Path>) -> Result<NativeCleanUpReport, SandboxError> {
    let root = directory.map_or_else(default_directory, Path::to_owned);
    let hierarchies = CgroupHierarchies::discover(&super::cgroup::CgroupSources::host())?;
    let lock = lock_root(&root).map_err(|source| SandboxError::HostPath { path: root.clone(), source })?;
    let done = clean_root(&root, &hierarchies).map_err(SandboxError::io("read the registry"));
    drop(lock);
    done
}

/// Counts live and dead owners, in the default directory or in the given one. Removes nothing.
pub fn count_owners(directory: Option<&Path>) -> Result<(usize, usize), SandboxError> {
    let root = directory.map_or_else(default_directory, Path::to_owned);
    if !root.is_dir() {
        return Ok((0, 0));
    }
    let _lock = lock_root(&root).map_err(|source| SandboxError::HostPath { path: root.clone(), source })?;
    let mut found = (0, 0);
    for entry in fs::read_dir(&root).map_err(SandboxError::io("read the registry"))?.flatten() {
        if is_owner_directory(&entry.file_name()) {
            let is_living = is_owner_alive(&entry.path()).map_err(SandboxError::io("read the registry"))?;
            *(if is_living { &mut found.0 } else { &mut found.1 }) += 1;
        }
    }
    Ok(found)
}

fn is_owner_alive(directory: &Path) -> io::Result<bool> {
    let mut file = match File::options().read(true).write(true).open(directory.join(ENTRY_FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    match file.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => is_alive(&mut file),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Default directory of this user: gone after a reboot, like all resources that it describes.
fn default_directory() -> PathBuf {
    let user = rustix::process::geteuid();
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|directory| directory.is_dir()) {
        Some(directory) => directory.join("menace"),
        None if user.is_root() => PathBuf::from("/run/menace"),
        None => std::env::temp_dir().join(format!("menace-{}", user.as_raw())),
    }
}

fn register(root: &Path, hierarchies: &CgroupHierarchies) -> io::Result<(BackendRegistration, Vec<String>)> {
    let lock = lock_root(root)?;
    let cleaned = clean_root(root, hierarchies)?;
    let owner = ProcessIdentity::of(std::process::id())?;
    let number = BACKENDS.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{}-{number}", owner.pid, owner.started);
    let directory = root.join(&name);
    fs::DirBuilder::new().mode(0o700).create(&directory)?;
    let mut file =
        File::options().read(true).write(true).create_new(true).open(directory.join(ENTRY_FILE))?;
    file.lock()?;
    let entry = BackendRegistryEntry { version: 1, owner, launcher: None, cgroup: name.clone() };
    write(&mut file, &entry)?;
    drop(lock);
    Ok((
        BackendRegistration { name, directory, file: file.into(), entry, is_kept: AtomicBool::new(false) },
        cleaned.problems,
    ))
}

/// Lock that is held while entries are created or removed, so that no entry is seen before it is locked.
fn lock_root(root: &Path) -> io::Result<File> {
    match fs::DirBuilder::new().mode(0o700).create(root) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    // In a world-writable directory another user may have created it first.
    let metadata = fs::symlink_metadata(root)?;
    if !metadata.is_dir() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "owned by another user"));
    }
    let file = File::options().read(true).write(true).create(true).truncate(false).open(root.join("lock"))?;
    file.lock()?;
    Ok(file)
}

fn clean_root(root: &Path, hierarchies: &CgroupHierarchies) -> io::Result<NativeCleanUpReport> {
    let mut done = NativeCleanUpReport::default();
    for directory in fs::read_dir(root)? {
        let directory = directory?;
        if directory.file_type()?.is_dir()
            && is_owner_directory(&directory.file_name())
            && let Err(error) = clean_owner(&directory.path(), hierarchies, &mut done)
        {
            done.problems.push(format!("failed to clean up {}: {error}", directory.path().display()));
        }
    }
    Ok(done)
}

/// Whether a name has the form that [`register`] gives. Other directories are left alone.
fn is_owner_directory(name: &OsStr) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    name.to_str().is_some_and(|name| name.split('-').count() == 3 && name.split('-').all(is_number))
}

fn clean_owner(
    directory: &Path,
    hierarchies: &CgroupHierarchies,
    done: &mut NativeCleanUpReport,
) -> io::Result<()> {
    let path = directory.join(ENTRY_FILE);
    let mut file = match File::options().read(true).write(true).open(&path) {
        Ok(file) => file,
        // The owner died while it created or removed its entry.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return fs::remove_dir_all(directory),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) if is_alive(&mut file)? => return Ok(()),
        // The owner was killed while it started a process, which holds the inherited lock until it closes its inherited
        // descriptors or executes a program. That takes moments, and no later clean-up may come for the entry.
        Err(TryLockError::WouldBlock) => file.lock()?,
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // A truncated entry was written before any resource was created.
    if let Some(entry) = read(&mut file)? {
        if let Some(launcher) = entry.launcher.filter(ProcessIdentity::is_alive) {
            done.processes += usize::from(launcher.kill()?);
        }
        done.cgroups += hierarchies.remove_stale_groups(&entry.cgroup).map_err(io::Error::other)?;
    }
    done.owners += 1;
    fs::remove_dir_all(directory)
}

/// Whether the owner of a locked entry is alive. An unreadable entry is being written by its owner.
fn is_alive(file: &mut File) -> io::Result<bool> {
    Ok(read(file)?.is_none_or(|entry| entry.owner.is_alive()))
}

/// Reads the entry; `None` if it is truncated.
fn read(file: &mut File) -> io::Result<Option<BackendRegistryEntry>> {
    file.rewind()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text).ok())
}

fn write(file: &mut File, entry: &BackendRegistryEntry) -> io::Result<()> {
    let text = serde_json::to_vec(entry)?;
    file.rewind()?;
    file.write_all(&text)?;
    file.set_len(text.len() as u64)
}

impl ProcessIdentity {
    fn of(pid: u32) -> io::Result<Self> {
        Ok(Self { pid, started: start_time(pid)?, boot: boot_id()? })
    }

    /// Whether the process is alive. A zombie is not.
    fn is_alive(&self) -> bool {
        boot_id().is_ok_and(|boot| boot == self.boot)
            && stat_field(self.pid, START_TIME).is_ok_and(|started| started == self.started.to_string())
            && stat_field(self.pid, STATE).is_ok_and(|state| state != "Z" && state != "X")
    }

    /// Kills the process; false if it had already ended.
    fn kill(&self) -> io::Result<bool> {
        let Some(pid) = rustix::process::Pid::from_raw(self.pid.cast_signed()) else { return Ok(false) };
        let handle = match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        // Checked again while holding the pidfd, which cannot refer to another process any more.
        if !self.is_alive() {
            return Ok(false);
        }
        rustix::process::pidfd_send_signal(&handle, rustix::process::Signal::KILL)?;
        Ok(true)
    }
}

/// Positions of fields in `/proc/PID/stat`, counted from the one after the name of the program.
const STATE: usize = 0;
const START_TIME: usize = 19;

fn start_time(pid: u32) -> io::Result<u64> {
    stat_field(pid, START_TIME)?.parse().map_err(|_| io::Error::other("the start time is not a number"))
}

fn stat_field(pid: u32, position: usize) -> io::Result<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name of the program, in parentheses, may itself have spaces and parentheses.
    let after_name = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let field = after_name.split_whitespace().nth(position).map(str::to_owned);
    field.ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat is truncated")))
}

fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread;

    use super::super::cgroup::CgroupSources;
    use super::*;

    /// Creates the entry of a dead process and returns its directory and its file, which is locked.
    fn entry_of_dead_process(root: &Path) -> (PathBuf, File) {
        let mut owner = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = ProcessIdentity::of(owner.id()).unwrap();
        let directory = root.join("1-1-0");
        fs::create_dir(&directory).unwrap();
        let mut file = File::create_new(directory.join(ENTRY_FILE)).unwrap();
        let cgroup = format!("{}-{}-0", process.pid, process.started);
        write(
            &mut file,
            &BackendRegistryEntry { version: 1, owner: process.clone(), launcher: None, cgroup },
        )
        .unwrap();
        file.lock().unwrap();
        assert!(process.is_alive());
        owner.kill().unwrap();
        owner.wait().unwrap();
        (directory, file)
    }

    fn has_waiting_lock(file: &File) -> bool {
        let inode = format!(":{} ", file.metadata().unwrap().ino());
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains("-> FLOCK") && line.contains(&inode))
    }

    #[test]
    fn clean_up_waits_for_a_lock_that_briefly_outlives_its_owner() {
        let root = tempfile::tempdir().unwrap();
        let (directory, file) = entry_of_dead_process(root.path());
        let path = root.path().to_owned();
        let cleaning = thread::spawn(move || clean_up(Some(&path)).unwrap());
        while !cleaning.is_finished() && !has_waiting_lock(&file) {
            thread::yield_now();
        }
        drop(file);
        assert_eq!(cleaning.join().unwrap().owners, 1);
        assert!(!directory.exists());
    }

    #[test]
    fn clean_up_keeps_the_entry_of_a_live_owner() {
        let root = tempfile::tempdir().unwrap();
        let hierarchies = CgroupHierarchies::discover(&CgroupSources::host()).unwrap();
        let registration = BackendRegistration::new(Some(root.path()), &hierarchies).unwrap();
        assert_eq!(clean_up(Some(root.path())).unwrap(), NativeCleanUpReport::default());
        assert!(registration.directory().exists());
    }

    #[test]
    fn a_zombie_counts_as_dead() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let process = ProcessIdentity::of(child.id()).unwrap();
        child.kill().unwrap();
        // Its end of the pipe is closed when it exits, slightly before `/proc` shows the new state.
        io::copy(child.stdout.as_mut().unwrap(), &mut io::sink()).unwrap();
        while process.is_alive() {
            thread::yield_now();
        }
        assert!(start_time(process.pid).is_ok(), "the zombie was not reaped yet");
        child.wait().unwrap();
    }

    #[test]
    fn clean_up_removes_only_directories_of_owners() {
        let root = tempfile::tempdir().unwrap();
        let unrelated = ["documents", "1-2", "1-2-3-4", "a-1-0", "1--0"];
        for name in unrelated.iter().chain(&["999999999-17-0"]) {
            fs::create_dir_all(root.path().join(name).join("deep")).unwrap();
        }
        let hierarchies = CgroupHierarchies::discover(&CgroupSources::host()).unwrap();
        clean_root(root.path(), &hierarchies).unwrap();
        for name in unrelated {
            assert!(root.path().join(name).join("deep").exists(), "{name} is gone");
        }
        assert!(
            !root.path().join("999999999-17-0").exists(),
            "the directory of a dead owner was not removed"
        );
    }

    #[test]
    fn an_entry_is_kept_while_its_groups_exist() {
        let root = tempfile::tempdir().unwrap();
        let hierarchies = CgroupHierarchies::discover(&CgroupSources::host()).unwrap();
        let entries = || fs::read_dir(root.path()).unwrap().count() - 1;
        let registration = BackendRegistration::new(Some(root.path()), &hierarchies).unwrap();
        registration.keep();
        drop(registration);
        assert_eq!(entries(), 1, "the entry of remaining groups was removed");
        drop(BackendRegistration::new(Some(root.path()), &hierarchies).unwrap());
        assert_eq!(entries(), 0, "the next backend did not clean up");
    }
}
