//! Inspection of a process that waits in an intercepted system call.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::syscalls::SyscallFileArgument;

/// Longest path that the kernel accepts (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;
/// `AT_FDCWD` as the kernel sees it.
const WORKING_DIRECTORY: i32 = -100;

/// A thread that waits in a system call.
#[derive(Debug, Clone, Copy)]
pub(super) struct InterceptedThread {
    /// Thread id in the host's pid namespace.
    pub(super) thread: u32,
}

impl InterceptedThread {
    /// Whether the process runs a program rather than menace's own code before the exec. An unreadable `exe` link
    /// counts as menace's code.
    pub(super) fn is_program(self, ours: &Path) -> bool {
        fs::read_link(self.file("exe")).is_ok_and(|executable| executable != ours)
    }

    /// Path that a call acts on, as seen inside the sandbox; `None` for descriptors without a path.
    pub(super) fn path(self, subject: SyscallFileArgument, arguments: &[u64; 6]) -> Option<PathBuf> {
        match subject {
            SyscallFileArgument::Descriptor(argument) => self.link(descriptor(arguments[argument])),
            SyscallFileArgument::Path { directory, path } => {
                let path = self.text(arguments[path])?;
                if path.is_absolute() {
                    return Some(normal(&path));
                }
                let base = match directory.map(|argument| descriptor(arguments[argument])) {
                    None | Some(WORKING_DIRECTORY) => fs::read_link(self.file("cwd")).ok()?,
                    Some(number) => self.link(number)?,
                };
                Some(normal(&base.join(path)))
            }
        }
    }

    /// Path of an open file; `None` for pipes, sockets and similar descriptors.
    fn link(self, number: i32) -> Option<PathBuf> {
        fs::read_link(self.file(&format!("fd/{number}"))).ok().filter(|path| path.is_absolute())
    }

    fn text(self, address: u64) -> Option<PathBuf> {
        let mut bytes = vec![0; LONGEST_PATH];
        let length = self.memory()?.read_at(&mut bytes, address).ok()?;
        let bytes = bytes.get(..length)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(PathBuf::from(String::from_utf8_lossy(bytes.get(..end)?).into_owned()))
    }

    /// Memory of the process.
    pub(super) fn memory(self) -> Option<File> {
        File::open(self.file("mem")).ok()
    }

    /// Duplicate of one of the process's descriptors.
    pub(super) fn descriptor(self, number: i32) -> Option<OwnedFd> {
        let status = fs::read_to_string(self.file("status")).ok()?;
        let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()?;
        let process = pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()?;
        pidfd_getfd(process, number, PidfdGetfdFlags::empty()).ok()
    }

    fn file(self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.thread))
    }
}

/// Descriptor in a system call argument; the kernel reads only the low 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "the kernel reads the low half only")]
pub(super) fn descriptor(argument: u64) -> i32 {
    (argument as u32).cast_signed()
}

/// Removes `.` and `..` lexically, without resolving links.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised_lexically() {
        assert_eq!(normal(Path::new("/workspace/./a/../b")), Path::new("/workspace/b"));
        assert_eq!(normal(Path::new("/../../a")), Path::new("/a"));
    }

    #[test]
    fn paths_are_read_from_the_memory_of_the_process() {
        let target = InterceptedThread { thread: std::process::id() };
        let (path, relative) = (c"/tmp/../etc/hosts", c"sub/file");
        let at = |directory: i32, text: &std::ffi::CStr| {
            let arguments = [u64::from(directory.cast_unsigned()), text.as_ptr() as u64, 0, 0, 0, 0];
            target.path(SyscallFileArgument::Path { directory: Some(0), path: 1 }, &arguments)
        };
        assert_eq!(at(WORKING_DIRECTORY, path).unwrap(), Path::new("/etc/hosts"));
        let here = std::env::current_dir().unwrap();
        assert_eq!(at(WORKING_DIRECTORY, relative).unwrap(), here.join("sub/file"));
        let directory = File::open("/usr").unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&directory);
        assert_eq!(at(number, relative).unwrap(), Path::new("/usr/sub/file"));
        assert_eq!(target.path(SyscallFileArgument::Path { directory: None, path: 0 }, &[8; 6]), None);
    }
}
