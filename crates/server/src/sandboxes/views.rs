//! Representation of sandboxes and commands in API responses.

use std::collections::BTreeMap;

use menace_model::sandbox::ExecOutcome;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::background_process::{BackgroundProcess, BackgroundProcessState};
use crate::clock;

/// State of a sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SandboxView {
    /// Id of the sandbox.
    pub sandbox_id: String,
    /// Id used by the backend.
    pub container_id: String,
    /// Name chosen by the owner.
    pub project_name: String,
    /// Status.
    pub status: SandboxStatus,
    /// Creation time.
    pub created_at: String,
    /// Path of the workspace inside the sandbox.
    pub workspace_path: String,
    /// URL paths of the ports, by port number.
    pub ports: BTreeMap<String, String>,
    /// Resource limits.
    pub resource_limits: SandboxResourceLimits,
    /// Backend.
    pub backend: String,
    /// Image of the root file system, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Time at which the sandbox is destroyed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Time of the last request.
    pub last_used_at: String,
    /// Id of the API key that owns the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// Status of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxStatus {
    /// Accepts commands.
    Running,
    /// Processes are frozen.
    Paused,
    /// Has files but no processes.
    Stopped,
}

impl SandboxStatus {
    /// Name as written in responses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
        }
    }
}

/// Resource limits of a sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SandboxResourceLimits {
    /// Memory limit as text, such as `1g`.
    pub memory_limit: String,
    /// CPU limit as text, such as `1.0`.
    pub cpu_limit: String,
    /// Memory limit in bytes.
    pub memory_bytes: u64,
    /// CPU limit in cores.
    pub cpus: f64,
    /// Disk limit in bytes.
    pub disk_bytes: u64,
    /// Limit of processes and threads.
    pub pids: u64,
}

/// A page of sandboxes.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SandboxPage {
    /// Sandboxes, oldest first.
    pub sandboxes: Vec<SandboxView>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// Result of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExecuteResponse {
    /// Exit code; null if the command was killed by a signal.
    pub exit_code: Option<i32>,
    /// Content of stdout, up to the limit.
    pub stdout: String,
    /// Content of stderr, up to the limit.
    pub stderr: String,
    /// Termination and resource usage.
    #[serde(flatten)]
    pub end: CommandTermination,
}

/// Termination and resource usage of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each flag is a separate field of the API")]
pub struct CommandTermination {
    /// Signal that killed the command.
    pub signal: Option<i32>,
    /// The command exceeded its timeout.
    pub timed_out: bool,
    /// The command exceeded its memory limit.
    pub oom: bool,
    /// The command exceeded its CPU time limit.
    pub cpu_exceeded: bool,
    /// The disk was full when the command ended.
    pub disk_full: bool,
    /// Output beyond the limit was dropped.
    pub truncated: bool,
    /// Wall-clock time in milliseconds.
    pub wall_ms: f64,
    /// CPU time in user mode in milliseconds, if measured.
    pub cpu_user_ms: Option<f64>,
    /// CPU time in the kernel in milliseconds, if measured.
    pub cpu_system_ms: Option<f64>,
    /// Peak memory in bytes, if measured.
    pub peak_memory_bytes: Option<u64>,
}

impl From<&ExecOutcome> for CommandTermination {
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

impl From<ExecOutcome> for ExecuteResponse {
    fn from(outcome: ExecOutcome) -> Self {
        let end = CommandTermination::from(&outcome);
        Self { exit_code: outcome.exit_code, stdout: outcome.stdout, stderr: outcome.stderr, end }
    }
}

/// A background process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProcessView {
    /// Id of the process within its sandbox.
    pub process_id: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// `running`, `ended`, or `lost` if its end could not be observed.
    pub status: String,
    /// Start time.
    pub started_at: String,
    /// End time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Exit code, unless killed by a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Termination and resource usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<CommandTermination>,
    /// Reason why the process was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Bytes of output that are no longer available.
    pub dropped_bytes: u64,
}

impl From<&BackgroundProcess> for ProcessView {
    fn from(running: &BackgroundProcess) -> Self {
        let state = running.state();
        let (status, exit_code, end, problem) = match &state {
            BackgroundProcessState::Running => ("running", None, None, None),
            BackgroundProcessState::Ended(outcome, _) => {
                ("ended", outcome.exit_code, Some(CommandTermination::from(&**outcome)), None)
            }
            BackgroundProcessState::Lost(problem, _) => ("lost", None, None, Some(problem.clone())),
        };
        Self {
            process_id: running.id.clone(),
            command: running.command.clone(),
            status: status.to_owned(),
            started_at: clock::format_time(running.started_ms),
            ended_at: state.ended_ms().map(clock::format_time),
            exit_code,
            end,
            problem,
            dropped_bytes: running.transcript.dropped(),
        }
    }
}
