//! Killing every process of a group, even if they fork faster than a list of them can be read.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::discover::CgroupVersion;
use super::error::CgroupError;
use super::files;
use super::freeze::{self, FreezerState};
use super::group::CgroupDirectory;

/// Number of pidfds open at a time; there may be more processes than the limit of open files.
const PIDFDS: usize = 64;
/// Time that one round waits for the processes that it killed.
const ROUND: Duration = Duration::from_millis(50);

/// Kills all processes in the directories, which are one group in several hierarchies, and waits until none is left.
/// Afterwards the limit on processes is restored and the group is not frozen, so that it can be used again.
pub(super) fn kill_all(directories: &[CgroupDirectory], patience: Duration) -> Result<(), CgroupError> {
    let started = Instant::now();
    // A group that the kernel kills as a whole cannot fork its way out.
    let by_kernel = directories.iter().all(|directory| directory.path.join("cgroup.kill").exists());
    let forks = if by_kernel { None } else { ForkBlock::stop(directories)? };
    let killed = kill_in_rounds(directories, !by_kernel && forks.is_none(), patience, started);
    let restored = forks.map_or(Ok(()), |forks| forks.restore_limit());
    killed.and(restored)
}

/// Processes in a group; none in a group that is gone. A process that is invisible to us, because it is in a pid
/// namespace that is not below ours, is listed as 0.
pub(super) fn processes(directory: &Path) -> Result<Vec<i32>, CgroupError> {
    let path = directory.join("cgroup.procs");
    let text = match files::read(&path) {
        Err(CgroupError::Read { source, .. }) if is_gone(&source) => return Ok(Vec::new()),
        other => other?,
    };
    text.lines()
        .map(|line| {
            line.parse().map_err(|_| CgroupError::Parse { path: path.clone(), text: line.to_owned() })
        })
        .collect()
}

/// Whether the process, or the group whose file is open, ended in the meantime.
pub(super) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENODEV))
}

fn kill_in_rounds(
    directories: &[CgroupDirectory],
    freeze: bool,
    patience: Duration,
    started: Instant,
) -> Result<(), CgroupError> {
    let freezers: Vec<&CgroupDirectory> = directories
        .iter()
        .filter(|directory| directory.path.join(freeze::state_file(directory.version)).exists())
        .collect();
    loop {
        if freeze {
            for freezer in &freezers {
                freeze::request_state(freezer, FreezerState::Frozen)?;
                match freeze::wait(freezer, FreezerState::Frozen, ROUND) {
                    // A process that is not frozen by now may survive this round, and is killed in the next.
                    Err(CgroupError::Freeze { .. }) => {}
                    other => other?,
                }
            }
        }
        for directory in directories {
            kill_members(directory)?;
        }
        for freezer in &freezers {
            // In cgroup v1 a signal reaches only a thawed process.
            freeze::request_state(freezer, FreezerState::Thawed)?;
        }
        let left = patience.saturating_sub(started.elapsed()).min(ROUND);
        if files::poll(left, || Ok(survivors(directories)?.is_none()))? {
            return Ok(());
        }
        if started.elapsed() >= patience
            && let Some((path, count)) = survivors(directories)?
        {
            return Err(CgroupError::Survivors { path, count, waited: patience });
        }
    }
}

fn survivors(directories: &[CgroupDirectory]) -> Result<Option<(PathBuf, usize)>, CgroupError> {
    for directory in directories {
        let processes = processes(&directory.path)?;
        if !processes.is_empty() {
            return Ok(Some((directory.path.clone(), processes.len())));
        }
    }
    Ok(None)
}

fn kill_members(directory: &CgroupDirectory) -> Result<(), CgroupError> {
    if directory.version == CgroupVersion::V2
        && files::write_if_there(&directory.path.join("cgroup.kill"), "1")?
    {
        return Ok(());
    }
    for pids in processes(&directory.path)?.chunks(PIDFDS) {
        let held: Vec<(i32, OwnedFd)> = pids
            .iter()
            .filter_map(|pid| open_process(*pid, &directory.path).transpose())
            .collect::<Result<_, CgroupError>>()?;
        // A process that ended after the list was read may have left its pid to an unrelated process. The pid is in the
        // list again only if the pidfd refers to a process of the group, or to one that has ended and gets no signal.
        let still_there = processes(&directory.path)?;
        for (pid, process) in held.iter().filter(|(pid, _)| still_there.contains(pid)) {
            match pidfd_send_signal(process, Signal::KILL) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(signal_error(*pid, &directory.path, error)),
            }
        }
    }
    Ok(())
}

fn open_process(pid: i32, directory: &Path) -> Result<Option<(i32, OwnedFd)>, CgroupError> {
    let Some(process) = Pid::from_raw(pid) else { return Ok(None) };
    match pidfd_open(process, PidfdFlags::empty()) {
        Ok(descriptor) => Ok(Some((pid, descriptor))),
        Err(rustix::io::Errno::SRCH) => Ok(None),
        Err(error) => Err(signal_error(pid, directory, error)),
    }
}

fn signal_error(pid: i32, directory: &Path, error: rustix::io::Errno) -> CgroupError {
    CgroupError::Signal { pid, path: directory.to_owned(), source: error.into() }
}

/// A group whose `pids.max` is 0, so that no process in it can fork. Setting it takes a few microseconds, where a
/// freezer takes milliseconds.
struct ForkBlock {
    file: PathBuf,
    before: String,
}

impl ForkBlock {
    fn stop(directories: &[CgroupDirectory]) -> Result<Option<Self>, CgroupError> {
        for directory in directories {
            let file = directory.path.join("pids.max");
            if let Some(before) = files::read_if_there(&file)? {
                files::write(&file, "0")?;
                return Ok(Some(Self { file, before }));
            }
        }
        Ok(None)
    }

    fn restore_limit(&self) -> Result<(), CgroupError> {
        files::write_if_there(&self.file, self.before.trim()).map(drop)
    }
}
