//! What a call is about, read from the process that waits in it.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::calls::Subject;

/// The longest path that the kernel takes.
const LONGEST_PATH: usize = 4096;
/// `AT_FDCWD` as the kernel sees it.
const WORKING_DIRECTORY: i32 = -100;

/// A thread that waits in a system call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    /// Its number outside.
    pub(super) thread: u32,
}

impl Target {
    /// Whether it runs a program, and not the code of ours before it. What hides itself is ours.
    pub(super) fn is_program(self, ours: &Path) -> bool {
        fs::read_link(self.file("exe")).is_ok_and(|executable| executable != ours)
    }

    /// The path that a call is about, as it is inside; `None` for what has no path.
    pub(super) fn path(self, subject: Subject, arguments: &[u64; 6]) -> Option<PathBuf> {
        match subject {
            Subject::Descriptor(argument) => self.link(descriptor(arguments[argument])),
            Subject::Path { directory, path } => {
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

    /// The path of an open file; `None` for a pipe, a socket and the like.
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

    /// Its memory.
    pub(super) fn memory(self) -> Option<File> {
        File::open(self.file("mem")).ok()
    }

    /// A copy of one of its descriptors.
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

/// A descriptor, of which the kernel takes the low half.
#[expect(clippy::cast_possible_truncation, reason = "the kernel reads the low half only")]
pub(super) fn descriptor(argument: u64) -> i32 {
    (argument as u32).cast_signed()
}

/// Without `.` and `..`, as far as that can be said without looking at links.
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
    fn a_path_is_what_it_leads_to() {
        assert_eq!(normal(Path::new("/workspace/./a/../b")), Path::new("/workspace/b"));
        assert_eq!(normal(Path::new("/../../a")), Path::new("/a"));
    }

    #[test]
    fn paths_are_read_from_a_process_as_it_sees_them() {
        let target = Target { thread: std::process::id() };
        let (path, relative) = (c"/tmp/../etc/hosts", c"sub/file");
        let at = |directory: i32, text: &std::ffi::CStr| {
            let arguments = [u64::from(directory.cast_unsigned()), text.as_ptr() as u64, 0, 0, 0, 0];
            target.path(Subject::Path { directory: Some(0), path: 1 }, &arguments)
        };
        assert_eq!(at(WORKING_DIRECTORY, path).unwrap(), Path::new("/etc/hosts"));
        let here = std::env::current_dir().unwrap();
        assert_eq!(at(WORKING_DIRECTORY, relative).unwrap(), here.join("sub/file"));
        let directory = File::open("/usr").unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&directory);
        assert_eq!(at(number, relative).unwrap(), Path::new("/usr/sub/file"));
        assert_eq!(target.path(Subject::Path { directory: None, path: 0 }, &[8; 6]), None);
    }
}
