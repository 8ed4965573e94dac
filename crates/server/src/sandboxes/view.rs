//! What callers are shown of sandboxes and commands.

use std::collections::BTreeMap;

use menace_model::sandbox::ExecOutcome;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::running::{Running, State};
use crate::clock;

/// A sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SandboxView {
    /// Its name here.
    pub sandbox_id: String,
    /// Its name for the backend.
    pub container_id: String,
    /// What its owner calls it.
    pub project_name: String,
    /// What it does.
    pub status: Status,
    /// When it was made.
    pub created_at: String,
    /// Where its files are, inside.
    pub workspace_path: String,
    /// Where its ports are reached, by their numbers.
    pub ports: BTreeMap<String, String>,
    /// What it may use.
    pub resource_limits: ResourceLimits,
    /// Who makes it.
    pub backend: String,
    /// What its files are made of, if that is an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What it can be found by.
    pub labels: BTreeMap<String, String>,
    /// When it will be destroyed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// When it was last asked for something.
    pub last_used_at: String,
    /// The key it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// What a sandbox does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It takes commands.
    Running,
    /// Its processes stand still.
    Paused,
    /// It has files and no processes.
    Stopped,
}

impl Status {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
        }
    }
}

/// What a sandbox may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResourceLimits {
    /// As it was asked for, such as `1g`.
    pub memory_limit: String,
    /// As it was asked for, such as `1.0`.
    pub cpu_limit: String,
    /// In bytes.
    pub memory_bytes: u64,
    /// In cores.
    pub cpus: f64,
    /// Bytes of files.
    pub disk_bytes: u64,
    /// Processes and threads.
    pub pids: u64,
}

/// A page of sandboxes.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SandboxPage {
    /// The sandboxes, the oldest first.
    pub sandboxes: Vec<SandboxView>,
    /// What to ask with for the next page; nothing if this is the last one.
    pub next_cursor: Option<String>,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Executed {
    /// Its exit code; nothing if it was killed.
    pub exit_code: Option<i32>,
    /// What it printed, up to the limit.
    pub stdout: String,
    /// What it complained, up to the limit.
    pub stderr: String,
    /// How it ended and what it took.
    #[serde(flatten)]
    pub end: CommandEnd,
}

/// How a command ended and what it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is one answer, and programs read them by name")]
pub struct CommandEnd {
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// It took longer than it may.
    pub timed_out: bool,
    /// It needed more memory than it may.
    pub oom: bool,
    /// It needed more CPU time than it may.
    pub cpu_exceeded: bool,
    /// Its disk was full when it ended.
    pub disk_full: bool,
    /// It printed more than is kept.
    pub truncated: bool,
    /// From its start to its end.
    pub wall_ms: f64,
    /// CPU time in user mode, where that is counted.
    pub cpu_user_ms: Option<f64>,
    /// CPU time in the kernel, where that is counted.
    pub cpu_system_ms: Option<f64>,
    /// Most memory at one time, where that is counted.
    pub peak_memory_bytes: Option<u64>,
}

impl From<&ExecOutcome> for CommandEnd {
    fn from(outcome: &ExecOutcome) -> Self {
        Self {
            signal: outcome.signal,
            timed_out: outcome.timed_out,
            oom: outcome.oom,
            cpu_exceeded: outcome.cpu_exceeded,
            disk_full: outcome.disk_full,
            truncated: outcome.truncated,
            wall_ms: outcome.wall_ms,
            cpu_user_ms: outcome.usage.cpu_user_ms,
            cpu_system_ms: outcome.usage.cpu_system_ms,
            peak_memory_bytes: outcome.usage.peak_rss_bytes,
        }
    }
}

impl From<ExecOutcome> for Executed {
    fn from(outcome: ExecOutcome) -> Self {
        let end = CommandEnd::from(&outcome);
        Self { exit_code: outcome.exit_code, stdout: outcome.stdout, stderr: outcome.stderr, end }
    }
}

/// A command that goes on by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProcessView {
    /// Its name in its sandbox.
    pub process_id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// `running`, `ended`, or `lost` if it is not known how it ended.
    pub status: String,
    /// When it was started.
    pub started_at: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Its exit code, if it ended with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<CommandEnd>,
    /// Why that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Bytes of its output that are not kept any more.
    pub dropped_bytes: u64,
}

impl From<&Running> for ProcessView {
    fn from(running: &Running) -> Self {
        let state = running.state();
        let (status, exit_code, end, problem) = match &state {
            State::Running => ("running", None, None, None),
            State::Ended(outcome, _) => {
                ("ended", outcome.exit_code, Some(CommandEnd::from(&**outcome)), None)
            }
            State::Lost(problem, _) => ("lost", None, None, Some(problem.clone())),
        };
        Self {
            process_id: running.id.clone(),
            command: running.command.clone(),
            status: status.to_owned(),
            started_at: clock::text(running.started_ms),
            ended_at: state.ended_ms().map(clock::text),
            exit_code,
            end,
            problem,
            dropped_bytes: running.transcript.dropped(),
        }
    }
}
