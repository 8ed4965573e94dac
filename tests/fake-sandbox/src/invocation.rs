//! Interface of fake programs: their input and their exit.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use menace_model::sandbox::SandboxUser;

use crate::error_number;
use crate::file_system::FakeFileNode;
use crate::machine::FakeMachine;
use crate::resolve::FinalSymlink;
use crate::streams::{FakeProgramInput, FakeProgramOutput};

/// Exit of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FakeExit {
    /// The program returned this code.
    Code(i32),
    /// This signal ended the program.
    Signal(i32),
}

pub(crate) type ProgramFuture = Pin<Box<dyn Future<Output = FakeExit> + Send>>;
pub(crate) type FakeProgram = fn(FakeInvocation) -> ProgramFuture;

/// A started program's view of its sandbox. Relative paths are relative to its directory.
#[derive(Clone)]
pub(crate) struct FakeInvocation {
    /// Program name as called, then its arguments.
    pub(crate) command: Vec<String>,
    /// Environment variables.
    pub(crate) environment: BTreeMap<String, String>,
    /// Working directory.
    pub(crate) directory: PathBuf,
    pub(crate) machine: Arc<FakeMachine>,
    pub(crate) stdin: FakeProgramInput,
    pub(crate) stdout: FakeProgramOutput,
    pub(crate) stderr: FakeProgramOutput,
}

impl FakeInvocation {
    /// Arguments without the program name.
    pub(crate) fn arguments(&self) -> &[String] {
        self.command.get(1..).unwrap_or_default()
    }

    /// User of the program.
    pub(crate) fn user(&self) -> SandboxUser {
        self.machine.spec.user
    }

    /// Writes to stdout, and waits while the pipe is full.
    pub(crate) async fn print(&self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stdout.write(bytes.as_ref()).await
    }

    /// Writes to stderr. Errors are ignored, because a program cannot report them anywhere else.
    pub(crate) async fn complain(&self, text: impl AsRef<[u8]>) {
        let _ignored = self.stderr.write(text.as_ref()).await;
    }

    /// Reads a file.
    pub(crate) fn read_file(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
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

    /// Runs another program of the sandbox to completion with the same streams, directory and variables.
    pub(crate) async fn run(mut self, command: Vec<String>) -> Result<FakeExit, io::Error> {
        let program = self.machine.find_program(&command, &self.environment)?;
        self.command = command;
        Ok(program(self).await)
    }

    /// Opens a file for reading from its start.
    pub(crate) fn open_input(&self, path: &Path) -> io::Result<FakeProgramInput> {
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
    pub(crate) fn open_output(&self, path: &Path, start: OutputOpenMode) -> io::Result<FakeProgramOutput> {
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
pub(crate) enum OutputOpenMode {
    Empty,
    End,
}
