//! What is alive, written down, so that whatever a killed process leaves behind is found and removed by the next one,
//! and nothing else is.
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

use super::cgroup::{Hierarchies, Record};
use crate::SandboxError;

/// The entry of a living backend. Dropping it removes the entry, unless there is still something that it describes.
#[derive(Debug)]
pub(crate) struct Registration {
    name: String,
    directory: PathBuf,
    /// Locked.
    file: std::sync::Mutex<File>,
    entry: Entry,
    is_kept: AtomicBool,
}

/// What is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    version: u32,
    owner: Process,
    launcher: Option<Process>,
    /// The directory of the cgroups of the sandboxes, in every hierarchy: `menace-<this>`.
    cgroup: String,
}

/// A process that cannot be confused with a later one of the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Process {
    pid: u32,
    /// In clock ticks since the start of the machine.
    started: u64,
    boot: String,
}

/// How many backends this process has had. Each has its own name, also those with a directory of their own: control groups
/// are named by it alone.
static BACKENDS: AtomicU64 = AtomicU64::new(0);

const ENTRY_FILE: &str = "registry.json";

impl Registration {
    /// Removes what dead owners left and enters this process.
    pub(super) fn new(directory: Option<&Path>, hierarchies: &Hierarchies) -> Result<Self, SandboxError> {
        let root = match directory {
            Some(directory) => directory.to_owned(),
            None => usual_directory(),
        };
        let (registration, problems) =
            enter(&root, hierarchies).map_err(|source| SandboxError::HostPath { path: root, source })?;
        // What cannot be removed now is tried again by the next one; it must not stop this one.
        for problem in problems {
            tracing::warn!("{problem}");
        }
        Ok(registration)
    }

    /// Unique on this machine.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Where files of this owner can be, which go with it.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Adds the launcher.
    pub(super) fn record_launcher(&self, pid: u32) -> Result<(), SandboxError> {
        let mut entry = self.entry.clone();
        entry.launcher = Some(Process::of(pid).map_err(SandboxError::io("look at the launcher"))?);
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        write(&mut file, &entry).map_err(SandboxError::io("write the registry"))
    }
}

impl Record for Registration {
    fn keep(&self) {
        self.is_kept.store(true, Ordering::Release);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // Without its lock it is the entry of a dead owner, for the next one to clean up.
        if self.is_kept.load(Ordering::Acquire) {
            return;
        }
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::warn!("failed to remove {}: {error}", self.directory.display());
        }
    }
}

/// What a clean-up did.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct CleanUp {
    /// Dead owners whose remains were removed.
    pub owners: usize,
    /// Processes that were still there.
    pub processes: usize,
    /// Control groups that were still there.
    pub cgroups: usize,
    /// What could not be removed.
    pub problems: Vec<String>,
}

/// Removes what dead owners left, in the usual place or another one.
pub fn clean_up(directory: Option<&Path>) -> Result<CleanUp, SandboxError> {
    let root = directory.map_or_else(usual_directory, Path::to_owned);
    let hierarchies = Hierarchies::discover(&super::cgroup::Sources::host())?;
    let lock = lock_root(&root).map_err(|source| SandboxError::HostPath { path: root.clone(), source })?;
    let done = clean_root(&root, &hierarchies).map_err(SandboxError::io("read the registry"));
    drop(lock);
    done
}

/// How many owners there are, living and dead, in the usual place or another one. Nothing is removed.
pub fn look_around(directory: Option<&Path>) -> Result<(usize, usize), SandboxError> {
    let root = directory.map_or_else(usual_directory, Path::to_owned);
    if !root.is_dir() {
        return Ok((0, 0));
    }
    let _lock = lock_root(&root).map_err(|source| SandboxError::HostPath { path: root.clone(), source })?;
    let mut found = (0, 0);
    for entry in fs::read_dir(&root).map_err(SandboxError::io("read the registry"))?.flatten() {
        if is_of_an_owner(&entry.file_name()) {
            let is_living = lives(&entry.path()).map_err(SandboxError::io("read the registry"))?;
            *(if is_living { &mut found.0 } else { &mut found.1 }) += 1;
        }
    }
    Ok(found)
}

fn lives(directory: &Path) -> io::Result<bool> {
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

/// The directory of this user: gone after a restart of the machine, like everything that it describes.
fn usual_directory() -> PathBuf {
    let user = rustix::process::geteuid();
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|directory| directory.is_dir()) {
        Some(directory) => directory.join("menace"),
        None if user.is_root() => PathBuf::from("/run/menace"),
        None => std::env::temp_dir().join(format!("menace-{}", user.as_raw())),
    }
}

fn enter(root: &Path, hierarchies: &Hierarchies) -> io::Result<(Registration, Vec<String>)> {
    let lock = lock_root(root)?;
    let cleaned = clean_root(root, hierarchies)?;
    let owner = Process::of(std::process::id())?;
    let number = BACKENDS.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{}-{number}", owner.pid, owner.started);
    let directory = root.join(&name);
    fs::DirBuilder::new().mode(0o700).create(&directory)?;
    let mut file =
        File::options().read(true).write(true).create_new(true).open(directory.join(ENTRY_FILE))?;
    file.lock()?;
    let entry = Entry { version: 1, owner, launcher: None, cgroup: name.clone() };
    write(&mut file, &entry)?;
    drop(lock);
    Ok((
        Registration { name, directory, file: file.into(), entry, is_kept: AtomicBool::new(false) },
        cleaned.problems,
    ))
}

/// Held while entries are made or removed, so that no entry is seen before it is locked.
fn lock_root(root: &Path) -> io::Result<File> {
    match fs::DirBuilder::new().mode(0o700).create(root) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    // In a directory that everybody can write to, somebody else may have made it first.
    let metadata = fs::symlink_metadata(root)?;
    if !metadata.is_dir() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to somebody else"));
    }
    let file = File::options().read(true).write(true).create(true).truncate(false).open(root.join("lock"))?;
    file.lock()?;
    Ok(file)
}

fn clean_root(root: &Path, hierarchies: &Hierarchies) -> io::Result<CleanUp> {
    let mut done = CleanUp::default();
    for directory in fs::read_dir(root)? {
        let directory = directory?;
        if directory.file_type()?.is_dir()
            && is_of_an_owner(&directory.file_name())
            && let Err(error) = clean_owner(&directory.path(), hierarchies, &mut done)
        {
            done.problems.push(format!("failed to clean up {}: {error}", directory.path().display()));
        }
    }
    Ok(done)
}

/// Whether a name is one that [`enter`] gives. Other directories are somebody else's, even where only ours should be.
fn is_of_an_owner(name: &OsStr) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    name.to_str().is_some_and(|name| name.split('-').count() == 3 && name.split('-').all(is_number))
}

fn clean_owner(directory: &Path, hierarchies: &Hierarchies, done: &mut CleanUp) -> io::Result<()> {
    let path = directory.join(ENTRY_FILE);
    let mut file = match File::options().read(true).write(true).open(&path) {
        Ok(file) => file,
        // Its owner died while it made or removed its entry.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return fs::remove_dir_all(directory),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) if is_alive(&mut file)? => return Ok(()),
        // The owner was killed while it started a process, which has the lock as well until it has closed or replaced
        // what it inherited. That is a matter of moments, and nobody else would come back for the entry.
        Err(TryLockError::WouldBlock) => file.lock()?,
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // An entry that was cut short was written before anything was made.
    if let Some(entry) = read(&mut file)? {
        if let Some(launcher) = entry.launcher.filter(Process::is_alive) {
            done.processes += usize::from(launcher.kill()?);
        }
        done.cgroups += hierarchies.remove_left_over(&entry.cgroup).map_err(io::Error::other)?;
    }
    done.owners += 1;
    fs::remove_dir_all(directory)
}

/// Whether the owner of a locked entry lives. One that cannot be read is being written by its owner.
fn is_alive(file: &mut File) -> io::Result<bool> {
    Ok(read(file)?.is_none_or(|entry| entry.owner.is_alive()))
}

/// The entry; `None` if it is cut short.
fn read(file: &mut File) -> io::Result<Option<Entry>> {
    file.rewind()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text).ok())
}

fn write(file: &mut File, entry: &Entry) -> io::Result<()> {
    let text = serde_json::to_vec(entry)?;
    file.rewind()?;
    file.write_all(&text)?;
    file.set_len(text.len() as u64)
}

impl Process {
    fn of(pid: u32) -> io::Result<Self> {
        Ok(Self { pid, started: start_time(pid)?, boot: boot_id()? })
    }

    /// One that has ended and waits for its parent does not live.
    fn is_alive(&self) -> bool {
        boot_id().is_ok_and(|boot| boot == self.boot)
            && stat_field(self.pid, START_TIME).is_ok_and(|started| started == self.started.to_string())
            && stat_field(self.pid, STATE).is_ok_and(|state| state != "Z" && state != "X")
    }

    /// Kills it; false if it ended by itself.
    fn kill(&self) -> io::Result<bool> {
        let Some(pid) = rustix::process::Pid::from_raw(self.pid.cast_signed()) else { return Ok(false) };
        let handle = match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        // Looked at again with the handle in hand: it cannot become another process any more.
        if !self.is_alive() {
            return Ok(false);
        }
        rustix::process::pidfd_send_signal(&handle, rustix::process::Signal::KILL)?;
        Ok(true)
    }
}

/// Places of fields in `/proc/PID/stat`, counted from the one after the name of the program.
const STATE: usize = 0;
const START_TIME: usize = 19;

fn start_time(pid: u32) -> io::Result<u64> {
    stat_field(pid, START_TIME)?.parse().map_err(|_| io::Error::other("a start time that is no number"))
}

fn stat_field(pid: u32, place: usize) -> io::Result<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name of the program, in parentheses, may itself have spaces and parentheses.
    let after_name = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let field = after_name.split_whitespace().nth(place).map(str::to_owned);
    field.ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat is cut short")))
}

fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread;

    use super::super::cgroup::Sources;
    use super::*;

    /// A directory with the entry of a process that is dead, and its file, which is locked.
    fn entry_of_the_dead(root: &Path) -> (PathBuf, File) {
        let mut owner = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = Process::of(owner.id()).unwrap();
        let directory = root.join("1-1-0");
        fs::create_dir(&directory).unwrap();
        let mut file = File::create_new(directory.join(ENTRY_FILE)).unwrap();
        let cgroup = format!("{}-{}-0", process.pid, process.started);
        write(&mut file, &Entry { version: 1, owner: process.clone(), launcher: None, cgroup }).unwrap();
        file.lock().unwrap();
        assert!(process.is_alive());
        owner.kill().unwrap();
        owner.wait().unwrap();
        (directory, file)
    }

    fn is_waited_for(file: &File) -> bool {
        let inode = format!(":{} ", file.metadata().unwrap().ino());
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains("-> FLOCK") && line.contains(&inode))
    }

    #[test]
    fn a_lock_that_outlives_its_owner_for_a_moment_is_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let (directory, file) = entry_of_the_dead(root.path());
        let path = root.path().to_owned();
        let cleaning = thread::spawn(move || clean_up(Some(&path)).unwrap());
        while !cleaning.is_finished() && !is_waited_for(&file) {
            thread::yield_now();
        }
        drop(file);
        assert_eq!(cleaning.join().unwrap().owners, 1);
        assert!(!directory.exists());
    }

    #[test]
    fn an_entry_of_the_living_stays() {
        let root = tempfile::tempdir().unwrap();
        let hierarchies = Hierarchies::discover(&Sources::host()).unwrap();
        let registration = Registration::new(Some(root.path()), &hierarchies).unwrap();
        assert_eq!(clean_up(Some(root.path())).unwrap(), CleanUp::default());
        assert!(registration.directory().exists());
    }

    #[test]
    fn a_process_that_nobody_has_reaped_is_dead() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        child.kill().unwrap();
        // Its end of the pipe is closed when it ends, a moment before the kernel says so.
        io::copy(child.stdout.as_mut().unwrap(), &mut io::sink()).unwrap();
        while process.is_alive() {
            thread::yield_now();
        }
        assert!(start_time(process.pid).is_ok(), "it is still there to be reaped");
        child.wait().unwrap();
    }

    #[test]
    fn only_what_owners_made_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let theirs = ["documents", "1-2", "1-2-3-4", "a-1-0", "1--0"];
        for name in theirs.iter().chain(&["999999999-17-0"]) {
            fs::create_dir_all(root.path().join(name).join("deep")).unwrap();
        }
        let hierarchies = Hierarchies::discover(&Sources::host()).unwrap();
        clean_root(root.path(), &hierarchies).unwrap();
        for name in theirs {
            assert!(root.path().join(name).join("deep").exists(), "{name} is gone");
        }
        assert!(!root.path().join("999999999-17-0").exists(), "what a dead owner left is still there");
    }

    #[test]
    fn an_entry_stays_as_long_as_its_groups_do() {
        let root = tempfile::tempdir().unwrap();
        let hierarchies = Hierarchies::discover(&Sources::host()).unwrap();
        let entries = || fs::read_dir(root.path()).unwrap().count() - 1;
        let registration = Registration::new(Some(root.path()), &hierarchies).unwrap();
        registration.keep();
        drop(registration);
        assert_eq!(entries(), 1, "nobody would ever find what is left");
        drop(Registration::new(Some(root.path()), &hierarchies).unwrap());
        assert_eq!(entries(), 0, "the next one did not clean up");
    }
}
