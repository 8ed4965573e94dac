//! What came of a call.

use serde::{Deserialize, Serialize};

/// The kinds of outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// It returned.
    Ok,
    /// It refused on purpose.
    Rejected,
    /// Any other exception, or a fatal signal.
    Crash,
    /// Its time was over.
    Timeout,
    /// Memory ran out.
    Oom,
    /// The disk was full and the code did not handle it.
    DiskFull,
    /// It tried what the sandbox forbids, and did not handle the refusal.
    Denied,
    /// An oracle disagrees.
    Wrong,
    /// The same call had another outcome before.
    Flaky,
    /// The fault of the preset did not fire.
    Void,
    /// Our own machinery failed, or the section cannot be called.
    HarnessError,
}

impl OutcomeKind {
    /// Whether it counts as a success.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Ok | Self::Rejected)
    }

    /// Whether it counts at all.
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

/// An exception, as the harness saw it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The name of its class.
    pub exception: String,
    /// The module of its class.
    pub module: String,
    /// Its class and those it is made of, by name.
    pub bases: Vec<String>,
    /// Its text.
    pub message: String,
    /// The frames of the repository, innermost last: file, line, name of the function.
    pub frames: Vec<(String, u32, String)>,
    /// The innermost of them is at a `raise` or an `assert`.
    pub raised: bool,
    /// Its class is defined in the repository.
    pub own_class: bool,
    /// No code of the repository ran: Python itself refused the call.
    pub refused: bool,
    /// The number of an error of the operating system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// All of it as Python prints it, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
}

impl Facts {
    /// Whether it is an exception of this class, or of one made of it.
    pub fn is_a(&self, class: &str) -> bool {
        self.bases.iter().any(|base| base == class)
    }
}
