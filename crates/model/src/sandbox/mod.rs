//! Requests to a sandbox and their results, independent of the backend.

mod capabilities;
mod file;
mod outcome;
mod spec;

pub use capabilities::{
    BackendCapabilities, PauseMethod, ResourceController, SandboxIsolation, SandboxState,
};
pub use file::{FileEntry, FileEvent, FileEventKind, FileKind, FileOperation};
pub use outcome::{DeniedSyscall, ExecOutcome, FileChanges, ResourceUsage, SandboxStats};
pub use spec::{
    ExecRequest, HostMount, LimitsChange, MountAccess, SandboxLimits, SandboxSpec, SandboxUser, TerminalSize,
    WORKSPACE, WorkspaceContent,
};
