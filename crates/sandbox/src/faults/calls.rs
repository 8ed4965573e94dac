//! Mapping from fault rules to system calls, and from system calls to the file they act on.

use menace_isolation::seccomp::{Answer, Decision, Row, rows};
use menace_model::faults::{FaultRule, FaultyCall};

/// Arguments, by index, that name the file of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// A path, relative to the directory of a descriptor or to the working directory.
    Path {
        directory: Option<usize>,
        path: usize,
    },
    Descriptor(usize),
}

const PATH: Subject = Subject::Path { directory: None, path: 0 };
const AT: Subject = Subject::Path { directory: Some(0), path: 1 };
const FILE: Subject = Subject::Descriptor(0);

/// Kind and subject of a system call, by name.
fn kind(name: &str) -> Option<(FaultyCall, Subject)> {
    Some(match name {
        "open" | "creat" => (FaultyCall::Open, PATH),
        "openat" | "openat2" => (FaultyCall::Open, AT),
        "read" | "pread64" | "readv" | "preadv" | "preadv2" => (FaultyCall::Read, FILE),
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => (FaultyCall::Write, FILE),
        "fsync" | "fdatasync" | "sync_file_range" | "syncfs" => (FaultyCall::Fsync, FILE),
        "rename" => (FaultyCall::Rename, PATH),
        "renameat" | "renameat2" => (FaultyCall::Rename, AT),
        "unlink" | "rmdir" => (FaultyCall::Unlink, PATH),
        "unlinkat" => (FaultyCall::Unlink, AT),
        "mkdir" => (FaultyCall::Mkdir, PATH),
        "mkdirat" => (FaultyCall::Mkdir, AT),
        "truncate" => (FaultyCall::Truncate, PATH),
        "ftruncate" | "fallocate" => (FaultyCall::Truncate, FILE),
        "stat" | "lstat" => (FaultyCall::Stat, PATH),
        "newfstatat" | "statx" => (FaultyCall::Stat, AT),
        "connect" => (FaultyCall::Connect, FILE),
        "sendto" => (FaultyCall::Sendto, FILE),
        "recvfrom" => (FaultyCall::Recvfrom, FILE),
        _ => return None,
    })
}

/// Numbers of the system calls that the rules match.
pub(crate) fn numbers(rules: &[FaultRule]) -> Vec<u32> {
    let is_matched = |row: &&Row| {
        kind(row.name()).is_some_and(|(call, _)| rules.iter().any(|rule| rule.call == call))
            && !matches!(row.decision, Decision::Give(Answer::Absent | Answer::Refuse(_)))
    };
    rows().filter(is_matched).map(|row| row.number).collect()
}

/// Kind, subject and name of a system call, by number.
pub(super) fn look_up(number: u32) -> Option<(FaultyCall, Subject, &'static str)> {
    let row = menace_isolation::seccomp::row(number)?;
    let (call, subject) = kind(row.name())?;
    Some((call, subject, row.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_system_calls() {
        for (call, name) in FaultyCall::ALL {
            let rule: FaultRule = format!("{name}=EIO").parse().unwrap();
            let numbers = numbers(&[rule]);
            assert!(!numbers.is_empty(), "{name}");
            assert!(numbers.iter().all(|number| look_up(*number).unwrap().0 == call), "{name}");
        }
    }

    #[test]
    fn calls_that_the_supervisor_needs_are_never_intercepted() {
        let rules: Vec<FaultRule> =
            FaultyCall::ALL.iter().map(|(_, name)| format!("{name}=EIO").parse().unwrap()).collect();
        let names: Vec<_> = numbers(&rules).into_iter().map(|number| look_up(number).unwrap().2).collect();
        for name in ["sendmsg", "recvmsg", "ioctl", "poll", "ppoll", "close", "execve", "exit_group"] {
            assert!(!names.contains(&name), "{name}");
        }
    }
}
