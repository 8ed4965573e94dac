//! The common interface of all sandbox backends.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use menace_model::faults::FaultCount;
use menace_model::network::{NetworkReport, NetworkSpec};
use menace_model::sandbox::{
    BackendCapabilities, ExecOutcome, ExecRequest, FileChanges, FileEntry, FileEvent, FileOperation,
    LimitsChange, SandboxIsolation, SandboxSpec, SandboxState, SandboxStats, TerminalSize,
};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{SandboxError, SandboxSnapshot};

/// An implementation of sandboxes: native or Docker.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Capabilities of the backend on this host.
    fn capabilities(&self) -> BackendCapabilities;

    /// Creates a sandbox. On failure nothing is left behind.
    async fn create(&self, spec: SandboxSpec) -> Result<Arc<dyn Sandbox>, SandboxError>;

    /// Runs one command in a new sandbox and destroys the sandbox afterwards.
    async fn run(&self, spec: SandboxSpec, request: ExecRequest) -> Result<ExecOutcome, SandboxError> {
        let sandbox = self.create(spec).await?;
        let outcome = sandbox.exec(request.exclusive()).await;
        sandbox.destroy().await?;
        outcome
    }

    /// Creates a sandbox with the files of a snapshot, from the same host directories.
    async fn fork(&self, snapshot: &SandboxSnapshot) -> Result<Arc<dyn Sandbox>, SandboxError>;

    /// Takes over the sandbox with this id that an earlier process created and that still exists. Returns `None` in
    /// backends whose sandboxes end with the process that created them.
    async fn adopt(&self, _id: &str, _spec: &SandboxSpec) -> Result<Option<Arc<dyn Sandbox>>, SandboxError> {
        Ok(None)
    }

    /// Removes idle resources that waited too long or are unhealthy. Long-lived owners of a backend call this
    /// periodically.
    async fn remove_expired(&self) -> Result<(), SandboxError> {
        Ok(())
    }

    /// Removes stale resources left behind by ended processes.
    async fn remove_stale(&self) -> Result<(), SandboxError> {
        Ok(())
    }

    /// Removes every resource that does not belong to a sandbox in use, and waits for the removal.
    async fn shut_down(&self) {}
}

/// A connection to a program inside a sandbox.
pub trait SandboxConnection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> SandboxConnection for T {}

/// A file watch. Dropping it ends the watch.
#[async_trait]
pub trait SandboxFileWatch: Send {
    /// Waits for the next file event; `None` when the sandbox is gone.
    async fn next(&mut self) -> Option<FileEvent>;
}

/// A sandbox. Dropping it destroys it without waiting for completion.
#[async_trait]
pub trait Sandbox: Send + Sync {
    /// Id of the sandbox, unique on this host.
    fn id(&self) -> &str;

    /// Runs a command to completion and captures its output up to the limit.
    async fn exec(&self, request: ExecRequest) -> Result<ExecOutcome, SandboxError>;

    /// Starts a command and streams its output.
    async fn spawn(&self, request: ExecRequest) -> Result<Box<dyn SandboxProcess>, SandboxError>;

    /// Unpacks a tar archive into a directory of the sandbox, which is created if missing. An entry that would land
    /// outside the directory is an error.
    async fn put(
        &self,
        directory: &Path,
        archive: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<(), SandboxError>;

    /// Packs a file or directory of the sandbox into a tar archive, with paths relative to its parent.
    async fn get(
        &self,
        path: &Path,
        archive: &mut (dyn AsyncWrite + Send + Unpin),
    ) -> Result<(), SandboxError>;

    /// Current resource usage.
    async fn stats(&self) -> Result<SandboxStats, SandboxError>;

    /// Files written and deleted since the sandbox was created.
    async fn changes(&self) -> Result<FileChanges, SandboxError>;

    /// State of the isolation as the kernel reports it.
    async fn isolation(&self) -> Result<SandboxIsolation, SandboxError>;

    /// Observed network traffic; empty without a network.
    async fn network(&self) -> Result<NetworkReport, SandboxError>;

    /// Replaces the network policy. Open connections that the new policy denies are closed.
    async fn change_network(&self, spec: NetworkSpec) -> Result<(), SandboxError>;

    /// Number of injected system call faults, per rule.
    async fn faults(&self) -> Result<Vec<FaultCount>, SandboxError>;

    /// Performs a file operation. Only list and stat return entries.
    async fn files(&self, work: FileOperation) -> Result<Vec<FileEntry>, SandboxError>;

    /// Watches a file or a directory, including all existing and future directories below it.
    async fn watch(&self, _path: &Path) -> Result<Box<dyn SandboxFileWatch>, SandboxError> {
        Err(cannot("watch files"))
    }

    /// Connects to a program in the sandbox that listens on a port of its loopback interface.
    async fn connect(&self, _port: u16) -> Result<Box<dyn SandboxConnection>, SandboxError> {
        Err(cannot("reach programs inside"))
    }

    /// Changes the limits of the running sandbox.
    async fn change_limits(&self, _change: LimitsChange) -> Result<(), SandboxError> {
        Err(cannot("change limits of a sandbox that runs"))
    }

    /// Ends every process in the sandbox; its files stay. The owner that stopped it rejects commands until
    /// [`Sandbox::start`].
    async fn stop(&self) -> Result<(), SandboxError>;

    /// Makes a stopped sandbox ready for commands.
    async fn start(&self) -> Result<(), SandboxError>;

    /// Current state, for a sandbox that was adopted.
    async fn state(&self) -> Result<SandboxState, SandboxError> {
        Err(cannot("say what a sandbox does"))
    }

    /// Freezes every process in the sandbox until [`Sandbox::resume`]. Pausing is idempotent.
    async fn pause(&self) -> Result<(), SandboxError>;

    /// Lets the processes of a paused sandbox continue.
    async fn resume(&self) -> Result<(), SandboxError>;

    /// Copies the written files and the list of deleted ones. Processes are not part of a snapshot.
    async fn snapshot(&self) -> Result<SandboxSnapshot, SandboxError>;

    /// Kills all processes and removes the sandbox. Every later call returns [`SandboxError::Gone`], except that
    /// destroying is idempotent.
    async fn destroy(&self) -> Result<(), SandboxError>;
}

/// A command that runs in a sandbox. Dropping it kills the command and all its descendants.
#[async_trait]
pub trait SandboxProcess: Send {
    /// Waits for the next event; [`ProcessEvent::Exited`] is the last one. Output is read only on demand, so a command that
    /// prints faster than its reader blocks.
    async fn next(&mut self) -> Result<ProcessEvent, SandboxError>;

    /// Writes to stdin. Fails with a broken pipe if the command no longer reads.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError>;

    /// Takes stdin, so that it can be written to while events are awaited. Without this a command that prints before it
    /// has read all its input deadlocks with its caller.
    async fn take_stdin(&mut self) -> Option<Box<dyn AsyncWrite + Send + Unpin>>;

    /// Closes stdin.
    async fn close_stdin(&mut self) -> Result<(), SandboxError>;

    /// Sends a signal to the command.
    async fn signal(&mut self, signal: i32) -> Result<(), SandboxError>;

    /// Kills the command and all its descendants. Its exit is the last event.
    async fn kill(&mut self) -> Result<(), SandboxError>;

    /// Sets the size of the command's terminal.
    async fn resize(&mut self, _size: TerminalSize) -> Result<(), SandboxError> {
        Err(cannot("give commands a terminal"))
    }
}

/// Error for an operation that the backend does not support. Callers that check the capabilities first do not meet it.
pub(crate) fn cannot(what: &str) -> SandboxError {
    SandboxError::Refused {
        problem: format!("this backend cannot {what}"),
        hint: "'menace doctor' lists what each backend supports; native supports most".into(),
    }
}

/// Event of a running command.
#[derive(Debug, Clone, PartialEq)]
pub enum ProcessEvent {
    /// Output on stdout.
    Stdout(Vec<u8>),
    /// Output on stderr.
    Stderr(Vec<u8>),
    /// The command ended. `stdout` and `stderr` of the outcome are empty: they were streamed.
    Exited(Box<ExecOutcome>),
}
