//! Processes of menace in `/proc`: the launcher, the init processes of sandboxes, and all processes of a sandbox.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::BenchmarkError;

/// Memory of one process, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessMemory {
    /// PSS: pages, each divided by the number of processes that share it.
    pub(crate) proportional: u64,
    /// RSS: pages, shared ones counted in full.
    pub(crate) resident: u64,
}

impl std::iter::Sum for ProcessMemory {
    fn sum<I: Iterator<Item = Self>>(memories: I) -> Self {
        memories.fold(Self::default(), |sum, memory| Self {
            proportional: sum.proportional + memory.proportional,
            resident: sum.resident + memory.resident,
        })
    }
}

/// Launcher of this process's backend. Between two samples this process has no other child.
pub(crate) fn launcher() -> Result<u32, BenchmarkError> {
    let children = children_of(std::process::id())?;
    match children.as_slice() {
        [launcher] => Ok(*launcher),
        _ => Err(BenchmarkError::UnexpectedProcesses {
            expected: "a launcher and no other child of this process".into(),
            found: format!("children {children:?}"),
        }),
    }
}

/// Init processes of the sandboxes of a launcher, in order. Another child of it may be kept ready for the next sandbox.
pub(crate) fn init_processes(launcher: u32) -> Result<Vec<u32>, BenchmarkError> {
    let mut children = children_of(launcher)?;
    children.retain(|pid| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "menace: sandbox")
    });
    Ok(children)
}

/// Children of a process, in order.
pub(crate) fn children_of(parent: u32) -> Result<Vec<u32>, BenchmarkError> {
    let mut children: Vec<u32> =
        all_processes()?.into_iter().filter(|pid| parent_of(*pid) == Some(parent)).collect();
    children.sort_unstable();
    Ok(children)
}

/// Process namespace of a process; `None` when it has ended.
pub(crate) fn process_namespace(pid: u32) -> Result<Option<u64>, BenchmarkError> {
    let path = format!("/proc/{pid}/ns/pid");
    match fs::metadata(&path) {
        Ok(metadata) => Ok(Some(metadata.ino())),
        Err(error) if is_gone(&error) => Ok(None),
        Err(source) => Err(BenchmarkError::ReadProc { path, source }),
    }
}

/// Processes in a process namespace. Unreadable ones, such as kernel threads and processes of other users, are in none
/// that this process created.
pub(crate) fn members_of(namespace: u64) -> Result<Vec<u32>, BenchmarkError> {
    let is_member = |pid: &u32| {
        fs::metadata(format!("/proc/{pid}/ns/pid")).is_ok_and(|metadata| metadata.ino() == namespace)
    };
    Ok(all_processes()?.into_iter().filter(is_member).collect())
}

/// A handle to a process; `None` when it has ended.
pub(crate) fn open_handle(pid: u32) -> Result<Option<OwnedFd>, BenchmarkError> {
    let Some(number) = Pid::from_raw(pid.cast_signed()) else { return Ok(None) };
    match pidfd_open(number, PidfdFlags::empty()) {
        Ok(handle) => Ok(Some(handle)),
        Err(rustix::io::Errno::SRCH) => Ok(None),
        Err(error) => Err(BenchmarkError::ReadProc { path: format!("/proc/{pid}"), source: error.into() }),
    }
}

/// Memory of a process.
pub(crate) fn memory_of(pid: u32) -> Result<ProcessMemory, BenchmarkError> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(BenchmarkError::ReadProc { path, source }),
    };
    let field = |name: &str| {
        kibibytes(&text, name).ok_or_else(|| BenchmarkError::ReadProc {
            path: path.clone(),
            source: io::Error::other(format!("it has no {name}")),
        })
    };
    Ok(ProcessMemory { proportional: field("Pss:")?, resident: field("Rss:")? })
}

/// Available memory of the machine, in bytes.
pub(crate) fn available_memory() -> Result<u64, BenchmarkError> {
    let path = "/proc/meminfo";
    let kernel = |source| BenchmarkError::ReadProc { path: path.into(), source };
    let text = fs::read_to_string(path).map_err(kernel)?;
    kibibytes(&text, "MemAvailable:").ok_or_else(|| kernel(io::Error::other("it has no MemAvailable")))
}

/// Value of a line such as `Name:   12 kB`, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

fn all_processes() -> Result<Vec<u32>, BenchmarkError> {
    let entries =
        fs::read_dir("/proc").map_err(|source| BenchmarkError::ReadProc { path: "/proc".into(), source })?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may itself have spaces and parentheses.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_found_by_its_parent_and_its_namespace() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let own = process_namespace(std::process::id()).unwrap().unwrap();
        let is_child = children_of(std::process::id()).unwrap().contains(&child.id());
        let is_member = members_of(own).unwrap().contains(&child.id());
        let memory = memory_of(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_child && is_member);
        let memory = memory.unwrap();
        assert!(memory.proportional > 0 && memory.proportional <= memory.resident);
        assert_eq!(process_namespace(child.id()).unwrap(), None);
        assert!(open_handle(child.id()).unwrap().is_none());
    }

    #[test]
    fn fields_of_the_kernel_are_in_kibibytes() {
        let text = "Rss:                1372 kB\nPss:                 164 kB\nPss_Dirty:  100 kB\n";
        assert_eq!(kibibytes(text, "Pss:"), Some(164 * 1024));
        assert_eq!(kibibytes(text, "Swap:"), None);
    }
}
