//! Outcome of a call: its classification, and the exception if there was one.

use serde::{Deserialize, Serialize};

/// Classification of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The call returned.
    Ok,
    /// The code rejected its input on purpose.
    Rejected,
    /// Any other exception, or a fatal signal.
    Crash,
    /// The call exceeded its timeout.
    Timeout,
    /// Memory ran out.
    Oom,
    /// The disk was full and the code did not handle it.
    DiskFull,
    /// The code tried an operation that the sandbox denies, and did not handle the denial.
    Denied,
    /// An oracle disagrees with the result.
    Wrong,
    /// The same call had another outcome when it was repeated.
    Flaky,
    /// The fault of the preset did not fire during the call.
    Void,
    /// menace itself failed, or the section cannot be called.
    HarnessError,
}

impl OutcomeKind {
    /// Whether it counts as a success.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Ok | Self::Rejected)
    }

    /// Whether it counts as a result of the code: neither void nor a harness error.
    pub fn counts(self) -> bool {
        !matches!(self, Self::Void | Self::HarnessError)
    }

    /// Whether it is a failure of the code under test.
    pub fn is_failure(self) -> bool {
        self.counts() && !self.is_success()
    }

    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::Ok,
        Self::Rejected,
        Self::Crash,
        Self::Timeout,
        Self::Oom,
        Self::DiskFull,
        Self::Denied,
        Self::Wrong,
        Self::Flaky,
        Self::Void,
        Self::HarnessError,
    ];

    /// The kind with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Rejected => "rejected",
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::Oom => "oom",
            Self::DiskFull => "disk_full",
            Self::Denied => "denied",
            Self::Wrong => "wrong",
            Self::Flaky => "flaky",
            Self::Void => "void",
            Self::HarnessError => "harness_error",
        }
    }
}

/// An exception, as the harness reported it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedException {
    /// Name of its class.
    pub exception: String,
    /// Module of its class.
    pub module: String,
    /// Names of its class and of all base classes.
    pub bases: Vec<String>,
    /// Its message.
    pub message: String,
    /// Frames in the repository's code, innermost last: file, line, function name.
    pub frames: Vec<(String, u32, String)>,
    /// The innermost of these frames is at a `raise` or an `assert`.
    pub raised: bool,
    /// Its class is defined in the repository.
    pub own_class: bool,
    /// Python itself rejected the call before any code of the repository ran.
    pub refused: bool,
    /// `errno` of an operating system error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// Traceback as Python prints it, if it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
}

impl ReportedException {
    /// Whether its class is this class or derives from it.
    pub fn is_a(&self, class: &str) -> bool {
        self.bases.iter().any(|base| base == class)
    }
}
