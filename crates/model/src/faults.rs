//! Fault rules: system calls that are made to fail, to take longer or to write corrupted bytes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::settings::{Percent, SettingValue};
use crate::{ErrorClass, ErrorDetails};

/// A kind of system call and the fault injected into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    /// The kind of system call.
    pub call: FaultySyscall,
    /// The injected fault.
    pub fault: SyscallFault,
    /// Share of the calls that get the fault, 0…1; the choice depends on the seed and on the number of such calls before.
    #[serde(default = "all")]
    pub rate: f64,
    /// Pattern of file paths that the rule applies to, with `*` for any part; `None` for any path. A call without a path or
    /// file never matches a pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// File descriptor that the rule applies to; `None` for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<i32>,
}

fn all() -> f64 {
    1.0
}

/// A fault of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyscallFault {
    /// The call fails with this error and has no effect.
    Error(FaultErrno),
    /// The call takes this much longer, in milliseconds.
    DelayMs(u64),
    /// The call succeeds, but writes other bytes than those given.
    Corrupt,
}

/// Kinds of system calls, each with all its variants (`open` is also `openat` and `openat2`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "documented by their manual pages")]
pub enum FaultySyscall {
    Open,
    Read,
    Write,
    Fsync,
    Rename,
    Unlink,
    Mkdir,
    Truncate,
    Stat,
    Connect,
    Sendto,
    Recvfrom,
}

impl FaultySyscall {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 12] = [
        (Self::Open, "open"),
        (Self::Read, "read"),
        (Self::Write, "write"),
        (Self::Fsync, "fsync"),
        (Self::Rename, "rename"),
        (Self::Unlink, "unlink"),
        (Self::Mkdir, "mkdir"),
        (Self::Truncate, "truncate"),
        (Self::Stat, "stat"),
        (Self::Connect, "connect"),
        (Self::Sendto, "sendto"),
        (Self::Recvfrom, "recvfrom"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(call, _)| *call == self).map_or("", |(_, name)| name)
    }
}

/// Errors that calls can be made to fail with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "documented by errno(3)")]
pub enum FaultErrno {
    Eio,
    Enospc,
    Edquot,
    Eacces,
    Eperm,
    Enoent,
    Erofs,
    Emfile,
    Eintr,
    Eagain,
    Econnrefused,
    Econnreset,
    Ehostunreach,
    Enetunreach,
    Etimedout,
    Epipe,
}

impl FaultErrno {
    /// All of them, with their names and numbers on Linux.
    const ALL: [(Self, &'static str, i32); 16] = [
        (Self::Eio, "EIO", 5),
        (Self::Enospc, "ENOSPC", 28),
        (Self::Edquot, "EDQUOT", 122),
        (Self::Eacces, "EACCES", 13),
        (Self::Eperm, "EPERM", 1),
        (Self::Enoent, "ENOENT", 2),
        (Self::Erofs, "EROFS", 30),
        (Self::Emfile, "EMFILE", 24),
        (Self::Eintr, "EINTR", 4),
        (Self::Eagain, "EAGAIN", 11),
        (Self::Econnrefused, "ECONNREFUSED", 111),
        (Self::Econnreset, "ECONNRESET", 104),
        (Self::Ehostunreach, "EHOSTUNREACH", 113),
        (Self::Enetunreach, "ENETUNREACH", 101),
        (Self::Etimedout, "ETIMEDOUT", 110),
        (Self::Epipe, "EPIPE", 32),
    ];

    /// Its number.
    pub fn number(self) -> i32 {
        Self::ALL.iter().find(|(error, ..)| *error == self).map_or(5, |(.., number)| *number)
    }
}

/// How often a rule matched and fired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultCount {
    /// The rule.
    #[serde(flatten)]
    pub rule: FaultRule,
    /// Calls that the rule applies to.
    pub seen: u64,
    /// Calls of these that got the fault.
    pub fired: u64,
}

/// A text that is not a fault rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid fault '{text}': {problem}")]
pub struct FaultRuleError {
    text: String,
    problem: String,
}

impl ErrorDetails for FaultRuleError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }
}

impl FromStr for FaultRule {
    type Err = FaultRuleError;

    /// Reads `write=EIO`, `write=corrupt,rate=10%,path=/workspace/*` or `fsync=200ms`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |problem: String| FaultRuleError { text: text.to_owned(), problem };
        let mut parts = text.split(',');
        let (call, fault) = parts
            .next()
            .and_then(|part| part.split_once('='))
            .ok_or_else(|| wrong("expected CALL=ERROR, CALL=TIME or write=corrupt".into()))?;
        let mut rule = Self {
            call: read_call(call).map_err(wrong)?,
            fault: read_fault(fault).map_err(wrong)?,
            rate: 1.0,
            path: None,
            descriptor: None,
        };
        for part in parts {
            match part.split_once('=') {
                Some(("rate", share)) => {
                    let share = Percent::parse(share)
                        .ok_or_else(|| wrong(format!("rate must be {}", Percent::accepted())))?;
                    rule.rate = share.get() / 100.0;
                }
                Some(("path", path)) if path.starts_with(['/', '*']) => rule.path = Some(path.to_owned()),
                Some(("path", _)) => return Err(wrong("a path must start with / or *".into())),
                Some(("fd", number)) => {
                    rule.descriptor = Some(number.parse().map_err(|_| wrong("fd must be a number".into()))?);
                }
                _ => return Err(wrong(format!("'{part}' is not rate=PERCENT, path=PATTERN or fd=NUMBER"))),
            }
        }
        if rule.fault == SyscallFault::Corrupt && rule.call != FaultySyscall::Write {
            return Err(wrong("only write can be corrupted".into()));
        }
        Ok(rule)
    }
}

fn read_call(name: &str) -> Result<FaultySyscall, String> {
    let known = FaultySyscall::ALL.iter().find(|(_, known)| *known == name).map(|(call, _)| *call);
    let names: Vec<&str> = FaultySyscall::ALL.iter().map(|(_, name)| *name).collect();
    known.ok_or_else(|| format!("'{name}' is not one of {}", names.join(", ")))
}

fn read_fault(text: &str) -> Result<SyscallFault, String> {
    if text == "corrupt" {
        return Ok(SyscallFault::Corrupt);
    }
    let upper = text.to_ascii_uppercase();
    if let Some((error, ..)) = FaultErrno::ALL.iter().find(|(_, name, _)| *name == upper) {
        return Ok(SyscallFault::Error(*error));
    }
    match <Duration as SettingValue>::parse(text)
        .filter(|_| text.starts_with(|first: char| first.is_ascii_digit()))
    {
        Some(delay) if delay <= Duration::from_hours(1) => {
            Ok(SyscallFault::DelayMs(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)))
        }
        _ => {
            let names: Vec<&str> = FaultErrno::ALL.iter().map(|(_, name, _)| *name).collect();
            Err(format!(
                "'{text}' is not a delay of at most an hour, corrupt, or one of {}",
                names.join(", ")
            ))
        }
    }
}

impl fmt::Display for FaultRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}=", self.call.name())?;
        match self.fault {
            SyscallFault::Error(error) => {
                let name = FaultErrno::ALL
                    .iter()
                    .find(|(known, ..)| *known == error)
                    .map_or("", |(_, name, _)| name);
                formatter.write_str(name)?;
            }
            SyscallFault::DelayMs(delay) => write!(formatter, "{delay}ms")?,
            SyscallFault::Corrupt => formatter.write_str("corrupt")?,
        }
        if self.rate < 1.0 {
            write!(formatter, ",rate={}%", self.rate * 100.0)?;
        }
        if let Some(path) = &self.path {
            write!(formatter, ",path={path}")?;
        }
        match self.descriptor {
            Some(descriptor) => write!(formatter, ",fd={descriptor}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_round_trip() {
        for text in [
            "write=EIO",
            "write=corrupt,rate=10%,path=/workspace/*",
            "fsync=200ms,fd=3",
            "connect=ECONNREFUSED",
        ] {
            let rule: FaultRule = text.parse().unwrap();
            assert_eq!(rule.to_string(), text);
            let json = serde_json::to_string(&rule).unwrap();
            assert_eq!(serde_json::from_str::<FaultRule>(&json).unwrap(), rule, "{json}");
        }
    }

    #[test]
    fn errors_name_the_accepted_values() {
        for (text, problem) in [
            ("write", "expected CALL="),
            ("wirte=EIO", "not one of open, read"),
            ("write=EWHAT", "one of EIO"),
            ("write=2h", "an hour"),
            ("read=corrupt", "only write"),
            ("write=EIO,rate=200%", "0 to 100"),
            ("write=EIO,path=x", "must start with"),
            ("write=EIO,often", "not rate="),
        ] {
            let error = text.parse::<FaultRule>().unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
