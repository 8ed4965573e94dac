//! Requests to a sandbox and their results, independent of the backend.

mod capabilities;
mod file;
mod outcome;
mod spec;

pub use capabilities::{Capabilities, Controller, Isolation, PauseMethod, SandboxState};
pub use file::{FileEntry, FileEvent, FileEventKind, FileKind, FileWork};
pub use outcome::{Denial, ExecOutcome, FileChanges, Stats, Usage};
pub use spec::{
    Access, ExecRequest, Limits, LimitsChange, Mount, SandboxSpec, TerminalSize, User, WORKSPACE, Workspace,
};
