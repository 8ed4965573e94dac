//! The one interface of everything that isolates.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use menace_model::faults::FaultCount;
use menace_model::network::{NetworkReport, NetworkSpec};
use menace_model::sandbox::{
    Capabilities, ExecOutcome, ExecRequest, FileChanges, FileEntry, FileEvent, FileWork, Isolation,
    LimitsChange, SandboxSpec, SandboxState, Stats, TerminalSize,
};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{SandboxError, Snapshot};

/// Something that makes sandboxes.
#[async_trait]
pub trait Backend: Send + Sync {
    /// What it can do on this host.
    fn capabilities(&self) -> Capabilities;

    /// Makes a sandbox. Whatever goes wrong, nothing of it is left behind.
    async fn create(&self, spec: SandboxSpec) -> Result<Arc<dyn Sandbox>, SandboxError>;

    /// Runs one command in a sandbox of its own, which is made for it and destroyed after it.
    async fn run(&self, spec: SandboxSpec, request: ExecRequest) -> Result<ExecOutcome, SandboxError> {
        let sandbox = self.create(spec).await?;
        let outcome = sandbox.exec(request.exclusive()).await;
        sandbox.destroy().await?;
        outcome
    }

    /// Makes a sandbox with the files of a snapshot, from the same host directories.
    async fn fork(&self, snapshot: &Snapshot) -> Result<Arc<dyn Sandbox>, SandboxError>;

    /// The sandbox of this name that an earlier process made and that is still there. Where sandboxes end with the process that
    /// made them, there is none.
    async fn adopt(&self, _id: &str, _spec: &SandboxSpec) -> Result<Option<Arc<dyn Sandbox>>, SandboxError> {
        Ok(None)
    }

    /// Removes what waits for too long or is not well. Whoever holds a backend for long asks for it now and then.
    async fn sweep(&self) -> Result<(), SandboxError> {
        Ok(())
    }

    /// Removes what nobody knows any more of what was made.
    async fn reap(&self) -> Result<(), SandboxError> {
        Ok(())
    }

    /// Removes everything that is no sandbox of anybody, and waits for that.
    async fn end(&self) {}
}

/// A connection to a program inside.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// Files that are watched. Dropping it ends that.
#[async_trait]
pub trait Watch: Send {
    /// The next thing that happens; `None` when the sandbox is gone.
    async fn next(&mut self) -> Option<FileEvent>;
}

/// A sandbox. Dropping it destroys it as well, without waiting for the end.
#[async_trait]
pub trait Sandbox: Send + Sync {
    /// Its name, unique on this host.
    fn id(&self) -> &str;

    /// Runs a command to its end and keeps what it printed, up to the limit.
    async fn exec(&self, request: ExecRequest) -> Result<ExecOutcome, SandboxError>;

    /// Starts a command and streams what it prints.
    async fn spawn(&self, request: ExecRequest) -> Result<Box<dyn Process>, SandboxError>;

    /// Unpacks a tar archive into a directory of the sandbox, which is made if it is missing. An entry that would
    /// land outside the directory is an error.
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

    /// What it takes now.
    async fn stats(&self) -> Result<Stats, SandboxError>;

    /// What was written and deleted in it since it was made.
    async fn changes(&self) -> Result<FileChanges, SandboxError>;

    /// What the kernel says about its isolation.
    async fn isolation(&self) -> Result<Isolation, SandboxError>;

    /// What was seen on its network. There is nothing to be seen without one.
    async fn network(&self) -> Result<NetworkReport, SandboxError>;

    /// Lets other rules hold on its network from now on. Connections that they do not allow are broken off.
    async fn change_network(&self, spec: NetworkSpec) -> Result<(), SandboxError>;

    /// How often system calls were made to go wrong, rule by rule.
    async fn faults(&self) -> Result<Vec<FaultCount>, SandboxError>;

    /// Does something with its files. Only listing and looking have answers.
    async fn files(&self, work: FileWork) -> Result<Vec<FileEntry>, SandboxError>;

    /// Tells what happens to a file or in a directory, and in all directories below that are there now or made later.
    async fn watch(&self, _path: &Path) -> Result<Box<dyn Watch>, SandboxError> {
        Err(cannot("watch files"))
    }

    /// Opens a connection to a program inside that listens on a port of its loopback interface.
    async fn connect(&self, _port: u16) -> Result<Box<dyn Connection>, SandboxError> {
        Err(cannot("reach programs inside"))
    }

    /// Lets other limits hold from now on.
    async fn change_limits(&self, _change: LimitsChange) -> Result<(), SandboxError> {
        Err(cannot("change limits of a sandbox that runs"))
    }

    /// Ends every process in it; its files stay. Commands are refused by whoever stopped it, until [`Sandbox::start`].
    async fn stop(&self) -> Result<(), SandboxError>;

    /// Makes it ready for commands after it was stopped.
    async fn start(&self) -> Result<(), SandboxError>;

    /// What it does, for one that was taken over.
    async fn state(&self) -> Result<SandboxState, SandboxError> {
        Err(cannot("say what a sandbox does"))
    }

    /// Stops every process in it until [`Sandbox::resume`]. Pausing twice is the same as once.
    async fn pause(&self) -> Result<(), SandboxError>;

    /// Lets its processes go on.
    async fn resume(&self) -> Result<(), SandboxError>;

    /// Copies what was written and deleted in it. Processes are not part of it.
    async fn snapshot(&self) -> Result<Snapshot, SandboxError>;

    /// Kills everything in it and removes it. After that every other call answers [`SandboxError::Gone`];
    /// destroying twice is the same as once.
    async fn destroy(&self) -> Result<(), SandboxError>;
}

/// A command that runs in a sandbox. Dropping it kills it with everything it started.
#[async_trait]
pub trait Process: Send {
    /// The next thing that happens; after [`Event::Exited`] nothing does. What nobody asks for is not read, so a
    /// command that prints faster than its reader waits.
    async fn next(&mut self) -> Result<Event, SandboxError>;

    /// Writes to its stdin. A command that does not read any more is an error of kind broken pipe.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError>;

    /// Takes its stdin away, so that it can be written to while events are waited for. A command that prints before it
    /// has read everything needs that, or both sides wait for ever.
    async fn take_stdin(&mut self) -> Option<Box<dyn AsyncWrite + Send + Unpin>>;

    /// Ends its stdin.
    async fn close_stdin(&mut self) -> Result<(), SandboxError>;

    /// Sends it a signal.
    async fn signal(&mut self, signal: i32) -> Result<(), SandboxError>;

    /// Kills it with everything it started. Its end is the last event.
    async fn kill(&mut self) -> Result<(), SandboxError>;

    /// Tells its terminal how large it is now.
    async fn resize(&mut self, _size: TerminalSize) -> Result<(), SandboxError> {
        Err(cannot("give commands a terminal"))
    }
}

/// What a backend does not do. Callers that ask for its capabilities first do not meet this.
pub(crate) fn cannot(what: &str) -> SandboxError {
    SandboxError::Refused {
        problem: format!("this backend cannot {what}"),
        hint: "menace doctor says what each backend can do; native can do most".into(),
    }
}

/// What a running command does.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It printed.
    Stdout(Vec<u8>),
    /// It complained.
    Stderr(Vec<u8>),
    /// It ended. `stdout` and `stderr` of the outcome are empty: they were streamed.
    Exited(Box<ExecOutcome>),
}
