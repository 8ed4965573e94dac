//! Mapping from fault rules to system calls, and from system calls to the file they act on.

use menace_isolation::seccomp::{SeccompAnswer, SeccompDecision, SyscallRow, rows};
use menace_model::faults::{FaultRule, FaultySyscall};

/// Arguments, by index, that name the file of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyscallFileArgument {
    /// A path, relative to the directory of a descriptor or to the working directory.
    Path {
        directory: Option<usize>,
        path: usize,
    },
    Descriptor(usize),
}

const PATH: SyscallFileArgument = SyscallFileArgument::Path { directory: None, path: 0 };
const AT: SyscallFileArgument = SyscallFileArgument::Path { directory: Some(0), path: 1 };
const FILE: SyscallFileArgument = SyscallFileArgument::Descriptor(0);

/// Kind and subject of a system call, by name.
fn kind(name: &str) -> Option<(FaultySyscall, SyscallFileArgument)> {
    Some(match name {
        "open" | "creat" => (FaultySyscall::Open, PATH),
        "openat" | "openat2" => (FaultySyscall::Open, AT),
        "read" | "pread64" | "readv" | "preadv" | "preadv2" => (FaultySyscall::Read, FILE),
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => (FaultySyscall::Write, FILE),
        "fsync" | "fdatasync" | "sync_file_range" | "syncfs" => (FaultySyscall::Fsync, FILE),
        "rename" => (FaultySyscall::Rename, PATH),
        "renameat" | "renameat2" => (FaultySyscall::Rename, AT),
        "unlink" | "rmdir" => (FaultySyscall::Unlink, PATH),
        "unlinkat" => (FaultySyscall::Unlink, AT),
        "mkdir" => (FaultySyscall::Mkdir, PATH),
        "mkdirat" => (FaultySyscall::Mkdir, AT),
        "truncate" => (FaultySyscall::Truncate, PATH),
        "ftruncate" | "fallocate" => (FaultySyscall::Truncate, FILE),
        "stat" | "lstat" => (FaultySyscall::Stat, PATH),
        "newfstatat" | "statx" => (FaultySyscall::Stat, AT),
        "connect" => (FaultySyscall::Connect, FILE),
        "sendto" => (FaultySyscall::Sendto, FILE),
        "recvfrom" => (FaultySyscall::Recvfrom, FILE),
        _ => return None,
    })
}

/// Numbers of the system calls that the rules match.
pub(crate) fn numbers(rules: &[FaultRule]) -> Vec<u32> {
    let is_matched = |row: &&SyscallRow| {
        kind(row.name()).is_some_and(|(call, _)| rules.iter().any(|rule| rule.call == call))
            && !matches!(
                row.decision,
                SeccompDecision::Give(SeccompAnswer::Absent | SeccompAnswer::Refuse(_))
            )
    };
    rows().filter(is_matched).map(|row| row.number).collect()
}

/// Kind, subject and name of a system call, by number.
pub(super) fn look_up(number: u32) -> Option<(FaultySyscall, SyscallFileArgument, &'static str)> {
    let row = menace_isolation::seccomp::row(number)?;
    let (call, subject) = kind(row.name())?;
    Some((call, subject, row.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_system_calls() {
        for (call, name) in FaultySyscall::ALL {
            let rule: FaultRule = format!("{name}=EIO").parse().unwrap();
            let numbers = numbers(&[rule]);
            assert!(!numbers.is_empty(), "{name}");
            assert!(numbers.iter().all(|number| look_up(*number).unwrap().0 == call), "{name}");
        }
    }

    #[test]
    fn calls_that_the_supervisor_needs_are_never_intercepted() {
        let rules: Vec<FaultRule> =
            FaultySyscall::ALL.iter().map(|(_, name)| format!("{name}=EIO").parse().unwrap()).collect();
        let names: Vec<_> = numbers(&rules).into_iter().map(|number| look_up(number).unwrap().2).collect();
        for name in ["sendmsg", "recvmsg", "ioctl", "poll", "ppoll", "close", "execve", "exit_group"] {
            assert!(!names.contains(&name), "{name}");
        }
    }
}
