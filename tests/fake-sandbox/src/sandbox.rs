//! One fake sandbox.

use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use menace_model::faults::FaultCount;
use menace_model::network::{NetworkReport, NetworkSpec};
use menace_model::sandbox::{
    ExecOutcome, ExecRequest, FileChanges, FileEntry, FileOperation, ResourceUsage, SandboxIsolation,
    SandboxStats, WORKSPACE,
};
use menace_sandbox::{ProcessEvent, Sandbox, SandboxError, SandboxProcess, SandboxSnapshot};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};
use tokio::sync::mpsc;

use crate::archive;
use crate::backend::{no_network, refused};
use crate::environment;
use crate::error_number;
use crate::file_system::FakeFileNode;
use crate::invocation::FakeInvocation;
use crate::machine::FakeMachine;
use crate::process::FakeProcess;
use crate::resolve::FinalSymlink;
use crate::streams::{FakeProgramInput, FakeProgramOutput, PIPE_CAPACITY};
use crate::supervise::{RunningCommandGuard, supervise};

pub(crate) struct FakeSandbox {
    machine: Arc<FakeMachine>,
}

impl FakeSandbox {
    pub(crate) fn new(machine: FakeMachine) -> Self {
        Self { machine: Arc::new(machine) }
    }

    /// Applies the changes of a snapshot.
    pub(crate) fn restore(&self, snapshot: &SandboxSnapshot) -> Result<(), SandboxError> {
        archive::restore(&mut self.machine.files(), snapshot)
    }

    fn start(&self, request: ExecRequest) -> Result<FakeProcess, SandboxError> {
        self.machine.check_alive()?;
        let machine = &self.machine;
        let environment = environment::of_command(&machine.spec, &request);
        let directory = self.start_directory(request.directory.as_deref())?;
        let program = machine.find_program(&request.command, &environment).map_err(|source| {
            SandboxError::Start { program: request.command.first().cloned().unwrap_or_default(), source }
        })?;
        let (stdin, stdin_inside) = duplex(PIPE_CAPACITY);
        let (stdout, stdout_inside) = duplex(PIPE_CAPACITY);
        let (stderr, stderr_inside) = duplex(PIPE_CAPACITY);
        let invocation = FakeInvocation {
            command: request.command,
            environment,
            directory,
            machine: Arc::clone(machine),
            stdin: FakeProgramInput::new(Cursor::new(request.stdin).chain(stdin_inside)),
            stdout: FakeProgramOutput::new(stdout_inside),
            stderr: FakeProgramOutput::new(stderr_inside),
        };
        let (signals, received) = mpsc::unbounded_channel();
        let running =
            supervise(RunningCommandGuard::new(machine), program(invocation), received, request.timeout);
        Ok(FakeProcess {
            stdin: Some(stdin),
            stdout: Some(stdout),
            stderr: Some(stderr),
            signals,
            outcome: Some(tokio::spawn(running)),
        })
    }

    fn start_directory(&self, requested: Option<&Path>) -> Result<PathBuf, SandboxError> {
        let requested = requested.unwrap_or(Path::new(WORKSPACE));
        let cannot_enter = |source: io::Error| SandboxError::Inside {
            action: "start in",
            path: requested.to_owned(),
            source,
        };
        let files = self.machine.files();
        let directory =
            files.resolve(Path::new(WORKSPACE), requested, FinalSymlink::Follow).map_err(cannot_enter)?;
        match files.get(&directory) {
            Some(FakeFileNode::Directory { .. }) => Ok(directory),
            Some(_) => Err(cannot_enter(error_number::not_a_directory())),
            None => Err(cannot_enter(error_number::missing())),
        }
    }
}

impl Drop for FakeSandbox {
    fn drop(&mut self) {
        self.machine.destroyed.send_replace(true);
    }
}

#[async_trait]
impl Sandbox for FakeSandbox {
    fn id(&self) -> &str {
        &self.machine.id
    }

    async fn exec(&self, request: ExecRequest) -> Result<ExecOutcome, SandboxError> {
        let mut process = self.start(request)?;
        process.close_stdin().await?;
        let limit = usize::try_from(self.machine.spec.limits.output).unwrap_or(usize::MAX);
        let (mut stdout, mut stderr) = (FakeOutputCapture::new(limit), FakeOutputCapture::new(limit));
        loop {
            match process.next().await? {
                ProcessEvent::Stdout(bytes) => stdout.add(&bytes),
                ProcessEvent::Stderr(bytes) => stderr.add(&bytes),
                ProcessEvent::Exited(mut outcome) => {
                    outcome.truncated = stdout.truncated || stderr.truncated;
                    outcome.stdout = stdout.text();
                    outcome.stderr = stderr.text();
                    return Ok(*outcome);
                }
            }
        }
    }

    async fn spawn(&self, request: ExecRequest) -> Result<Box<dyn SandboxProcess>, SandboxError> {
        Ok(Box::new(self.start(request)?))
    }

    async fn put(
        &self,
        directory: &Path,
        archive: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<(), SandboxError> {
        self.machine.check_alive()?;
        let mut bytes = Vec::new();
        archive.read_to_end(&mut bytes).await.map_err(SandboxError::io("read the archive"))?;
        archive::unpack(&mut self.machine.files(), directory, bytes.as_slice())
    }

    async fn get(
        &self,
        path: &Path,
        archive: &mut (dyn AsyncWrite + Send + Unpin),
    ) -> Result<(), SandboxError> {
        self.machine.check_alive()?;
        let bytes = archive::pack(&self.machine.files(), path)?;
        archive.write_all(&bytes).await.map_err(SandboxError::io("write the archive"))?;
        archive.flush().await.map_err(SandboxError::io("write the archive"))
    }

    async fn stats(&self) -> Result<SandboxStats, SandboxError> {
        self.machine.check_alive()?;
        Ok(SandboxStats {
            // Fake programs are not processes, so their usage cannot be measured.
            usage: ResourceUsage::default(),
            memory_bytes: None,
            pids: Some(*self.machine.running.borrow()),
            disk_bytes: Some(self.machine.files().used()),
        })
    }

    async fn changes(&self) -> Result<FileChanges, SandboxError> {
        self.machine.check_alive()?;
        Ok(self.machine.files().changes())
    }

    async fn isolation(&self) -> Result<SandboxIsolation, SandboxError> {
        self.machine.check_alive()?;
        Ok(SandboxIsolation::default())
    }

    async fn network(&self) -> Result<NetworkReport, SandboxError> {
        Ok(NetworkReport::default())
    }

    async fn change_network(&self, _: NetworkSpec) -> Result<(), SandboxError> {
        self.machine.check_alive()?;
        Err(no_network())
    }

    async fn faults(&self) -> Result<Vec<FaultCount>, SandboxError> {
        Ok(Vec::new())
    }

    async fn files(&self, work: FileOperation) -> Result<Vec<FileEntry>, SandboxError> {
        Err(refused(&format!("{} single files", work.action())))
    }

    async fn stop(&self) -> Result<(), SandboxError> {
        Err(refused("stop a sandbox without destroying it"))
    }

    async fn start(&self) -> Result<(), SandboxError> {
        self.machine.check_alive()
    }

    async fn pause(&self) -> Result<(), SandboxError> {
        self.machine.check_alive()?;
        self.machine.paused.send_replace(true);
        Ok(())
    }

    async fn resume(&self) -> Result<(), SandboxError> {
        self.machine.check_alive()?;
        self.machine.paused.send_replace(false);
        Ok(())
    }

    async fn snapshot(&self) -> Result<SandboxSnapshot, SandboxError> {
        self.machine.check_alive()?;
        archive::snapshot(&self.machine.files(), &self.machine.spec)
    }

    async fn destroy(&self) -> Result<(), SandboxError> {
        self.machine.destroyed.send_replace(true);
        let mut running = self.machine.running.subscribe();
        running
            .wait_for(|count| *count == 0)
            .await
            .expect("the machine owns the sender and is borrowed here");
        Ok(())
    }
}

/// Captured prefix of a command's output.
struct FakeOutputCapture {
    bytes: Vec<u8>,
    limit: usize,
    truncated: bool,
}

impl FakeOutputCapture {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, truncated: false }
    }

    fn add(&mut self, more: &[u8]) {
        let fits = more.len().min(self.limit - self.bytes.len());
        self.bytes.extend_from_slice(&more[..fits]);
        self.truncated |= fits < more.len();
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
