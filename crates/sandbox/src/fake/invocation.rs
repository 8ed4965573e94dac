//! Interface of fake programs: their input and their exit. Programs registered by tests use the same interface.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use menace_model::sandbox::SandboxUser;

use super::error_number;
use super::file_system::FakeFileNode;
use super::machine::FakeMachine;
use super::resolve::FinalSymlink;
use super::streams::{CHUNK, FakeProgramInput, FakeProgramOutput};

/// Exit of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FakeExit {
    /// The program returned this code.
    Code(i32),
    /// This signal ended the program.
    Signal(i32),
}

pub(super) type ProgramFuture = Pin<Box<dyn Future<Output = FakeExit> + Send>>;
pub(super) type FakeProgram = Arc<dyn Fn(FakeInvocation) -> ProgramFuture + Send + Sync>;

/// A started program's view of its sandbox. Relative paths are relative to its directory.
#[derive(Clone)]
pub struct FakeInvocation {
    /// Program name as called, then its arguments.
    pub command: Vec<String>,
    /// Environment variables.
    pub environment: BTreeMap<String, String>,
    /// Working directory.
    pub directory: PathBuf,
    pub(super) machine: Arc<FakeMachine>,
    pub(super) stdin: FakeProgramInput,
    pub(super) stdout: FakeProgramOutput,
    pub(super) stderr: FakeProgramOutput,
}

impl FakeInvocation {
    /// Arguments without the program name.
    pub fn arguments(&self) -> &[String] {
        self.command.get(1..).unwrap_or_default()
    }

    /// User of the program.
    pub fn user(&self) -> SandboxUser {
        self.machine.spec.user
    }

    /// Reads the next available bytes of stdin; empty at its end.
    pub async fn read(&self) -> io::Result<Vec<u8>> {
        self.stdin.read(CHUNK).await
    }

    /// Reads all of stdin.
    pub async fn read_to_end(&self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            let more = self.read().await?;
            if more.is_empty() {
                return Ok(all);
            }
            all.extend(more);
        }
    }

    /// Writes to stdout, and waits while the pipe is full.
    pub async fn print(&self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stdout.write(bytes.as_ref()).await
    }

    /// Writes to stderr. Errors are ignored, because a program cannot report them anywhere else.
    pub async fn complain(&self, text: impl AsRef<[u8]>) {
        let _ignored = self.stderr.write(text.as_ref()).await;
    }

    /// Reads a file.
    pub fn read_file(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let files = self.machine.files();
        let path = files.resolve(&self.directory, path.as_ref(), FinalSymlink::Follow)?;
        match files.get(&path) {
            Some(FakeFileNode::File { bytes, .. }) => Ok(bytes.clone()),
            Some(FakeFileNode::Null) => Ok(Vec::new()),
            Some(FakeFileNode::Directory { .. }) => Err(error_number::is_directory()),
            Some(FakeFileNode::Zero) => Err(error_number::invalid()),
            Some(FakeFileNode::Link { .. }) | None => Err(error_number::missing()),
        }
    }

    /// Creates or replaces a file. On a full disk the part that fits is written, as a real program would.
    pub fn write_file(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let mut files = self.machine.files();
        let path = files.resolve(&self.directory, path.as_ref(), FinalSymlink::Follow)?;
        let mode = match files.get(&path) {
            Some(FakeFileNode::Null | FakeFileNode::Zero) => return Ok(()),
            Some(FakeFileNode::File { mode, .. }) => *mode,
            _ => FakeFileNode::FILE_MODE,
        };
        files.insert(&path, FakeFileNode::File { mode, bytes: Vec::new() })?;
        let mut rest = bytes.as_ref();
        while !rest.is_empty() {
            let count = files.append(&path, rest)?;
            rest = &rest[count..];
        }
        Ok(())
    }

    /// Runs another program of the sandbox to completion with the same streams, directory and variables.
    pub(super) async fn run(mut self, command: Vec<String>) -> Result<FakeExit, io::Error> {
        let program = self.machine.find_program(&command, &self.environment)?;
        self.command = command;
        Ok(program(self).await)
    }

    /// Opens a file for reading from its start.
    pub(super) fn open_input(&self, path: &Path) -> io::Result<FakeProgramInput> {
        let is_zero = {
            let files = self.machine.files();
            let resolved = files.resolve(&self.directory, path, FinalSymlink::Follow)?;
            matches!(files.get(&resolved), Some(FakeFileNode::Zero))
        };
        if is_zero {
            return Ok(FakeProgramInput::Zero);
        }
        Ok(FakeProgramInput::new(io::Cursor::new(self.read_file(path)?)))
    }

    /// Opens a file for writing, truncated or at its end.
    pub(super) fn open_output(&self, path: &Path, start: OutputOpenMode) -> io::Result<FakeProgramOutput> {
        let mut files = self.machine.files();
        let path = files.resolve(&self.directory, path, FinalSymlink::Follow)?;
        let (mode, bytes) = match files.get(&path) {
            Some(FakeFileNode::Null | FakeFileNode::Zero) => return Ok(FakeProgramOutput::Null),
            Some(FakeFileNode::File { mode, bytes }) => (*mode, Some(bytes)),
            _ => (FakeFileNode::FILE_MODE, None),
        };
        if bytes.is_none() || start == OutputOpenMode::Empty {
            files.insert(&path, FakeFileNode::File { mode, bytes: Vec::new() })?;
        }
        Ok(FakeProgramOutput::File { machine: Arc::clone(&self.machine), path })
    }
}

/// Whether a file is truncated or appended to when it is opened for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputOpenMode {
    Empty,
    End,
}
