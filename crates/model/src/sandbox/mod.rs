//! What a sandbox is asked for and what it answers, whatever backend serves it.

mod capabilities;
mod outcome;
mod spec;

pub use capabilities::{Capabilities, Controller, Isolation, PauseMethod};
pub use outcome::{Denial, ExecOutcome, FileChanges, Stats, Usage};
pub use spec::{Access, ExecRequest, Limits, Mount, SandboxSpec, User, WORKSPACE, Workspace};
