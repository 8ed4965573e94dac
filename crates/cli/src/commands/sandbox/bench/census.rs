//! Our processes as the kernel shows them: the launcher, the first processes of sandboxes, everything in a sandbox.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::error::BenchError;

/// Memory of one process, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    /// Its pages, each divided by the number of processes that share it.
    pub(super) proportional: u64,
    /// Its pages.
    pub(super) resident: u64,
}

impl std::iter::Sum for Memory {
    fn sum<I: Iterator<Item = Self>>(memories: I) -> Self {
        memories.fold(Self::default(), |sum, memory| Self {
            proportional: sum.proportional + memory.proportional,
            resident: sum.resident + memory.resident,
        })
    }
}

/// The launcher of this process's one backend. It is the only child that this process has between two samples.
pub(super) fn launcher() -> Result<u32, BenchError> {
    let children = children_of(std::process::id())?;
    match children.as_slice() {
        [launcher] => Ok(*launcher),
        _ => Err(BenchError::Census {
            expected: "a launcher and no other child of this process".into(),
            found: format!("children {children:?}"),
        }),
    }
}

/// The first processes of the sandboxes of a launcher, lowest number first. Another child of it may wait to become one.
pub(super) fn first_processes(launcher: u32) -> Result<Vec<u32>, BenchError> {
    let mut children = children_of(launcher)?;
    children.retain(|pid| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "menace: sandbox")
    });
    Ok(children)
}

/// Children of a process, lowest number first.
pub(super) fn children_of(parent: u32) -> Result<Vec<u32>, BenchError> {
    let mut children: Vec<u32> = all()?.into_iter().filter(|pid| parent_of(*pid) == Some(parent)).collect();
    children.sort_unstable();
    Ok(children)
}

/// The process namespace of a process; `None` when it has ended.
pub(super) fn process_namespace(pid: u32) -> Result<Option<u64>, BenchError> {
    let path = format!("/proc/{pid}/ns/pid");
    match fs::metadata(&path) {
        Ok(metadata) => Ok(Some(metadata.ino())),
        Err(error) if is_gone(&error) => Ok(None),
        Err(source) => Err(BenchError::Kernel { path, source }),
    }
}

/// Everything that lives in a process namespace. Threads of the kernel and processes of others, which we may not look
/// at, are in none of ours.
pub(super) fn members_of(namespace: u64) -> Result<Vec<u32>, BenchError> {
    let is_member = |pid: &u32| {
        fs::metadata(format!("/proc/{pid}/ns/pid")).is_ok_and(|metadata| metadata.ino() == namespace)
    };
    Ok(all()?.into_iter().filter(is_member).collect())
}

/// A handle to a process; `None` when it has ended.
pub(super) fn hold(pid: u32) -> Result<Option<OwnedFd>, BenchError> {
    let Some(number) = Pid::from_raw(pid.cast_signed()) else { return Ok(None) };
    match pidfd_open(number, PidfdFlags::empty()) {
        Ok(handle) => Ok(Some(handle)),
        Err(rustix::io::Errno::SRCH) => Ok(None),
        Err(error) => Err(BenchError::Kernel { path: format!("/proc/{pid}"), source: error.into() }),
    }
}

/// What a process takes.
pub(super) fn memory_of(pid: u32) -> Result<Memory, BenchError> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(BenchError::Kernel { path, source }),
    };
    let field = |name: &str| {
        kibibytes(&text, name).ok_or_else(|| BenchError::Kernel {
            path: path.clone(),
            source: io::Error::other(format!("it has no {name}")),
        })
    };
    Ok(Memory { proportional: field("Pss:")?, resident: field("Rss:")? })
}

/// Memory that the whole machine could still give.
pub(super) fn available_memory() -> Result<u64, BenchError> {
    let path = "/proc/meminfo";
    let kernel = |source| BenchError::Kernel { path: path.into(), source };
    let text = fs::read_to_string(path).map_err(kernel)?;
    kibibytes(&text, "MemAvailable:").ok_or_else(|| kernel(io::Error::other("it has no MemAvailable")))
}

/// `Name:   12 kB` in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

fn all() -> Result<Vec<u32>, BenchError> {
    let entries =
        fs::read_dir("/proc").map_err(|source| BenchError::Kernel { path: "/proc".into(), source })?;
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
        assert!(hold(child.id()).unwrap().is_none());
    }

    #[test]
    fn fields_of_the_kernel_are_in_kibibytes() {
        let text = "Rss:                1372 kB\nPss:                 164 kB\nPss_Dirty:  100 kB\n";
        assert_eq!(kibibytes(text, "Pss:"), Some(164 * 1024));
        assert_eq!(kibibytes(text, "Swap:"), None);
    }
}
