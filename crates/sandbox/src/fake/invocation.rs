//! Interface of fake programs: their input and their exit. Programs registered by tests use the same interface.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use menace_model::sandbox::User;

use super::error_number;
use super::files::Node;
use super::machine::Machine;
use super::resolve::LastLink;
use super::streams::{CHUNK, Input, Output};

/// Exit of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The program returned this code.
    Code(i32),
    /// This signal ended the program.
    Signal(i32),
}

pub(super) type ProgramFuture = Pin<Box<dyn Future<Output = Exit> + Send>>;
pub(super) type Program = Arc<dyn Fn(Invocation) -> ProgramFuture + Send + Sync>;

/// A started program's view of its sandbox. Relative paths are relative to its directory.
#[derive(Clone)]
pub struct Invocation {
    /// Program name as called, then its arguments.
    pub command: Vec<String>,
    /// Environment variables.
    pub environment: BTreeMap<String, String>,
    /// Working directory.
    pub directory: PathBuf,
    pub(super) machine: Arc<Machine>,
    pub(super) stdin: Input,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
}

impl Invocation {
    /// Arguments without the program name.
    pub fn arguments(&self) -> &[String] {
        self.command.get(1..).unwrap_or_default()
    }

    /// User of the program.
    pub fn user(&self) -> User {
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
        let path = files.resolve(&self.directory, path.as_ref(), LastLink::Follow)?;
        match files.get(&path) {
            Some(Node::File { bytes, .. }) => Ok(bytes.clone()),
            Some(Node::Null) => Ok(Vec::new()),
            Some(Node::Directory { .. }) => Err(error_number::is_directory()),
            Some(Node::Zero) => Err(error_number::invalid()),
            Some(Node::Link { .. }) | None => Err(error_number::missing()),
        }
    }

    /// Creates or replaces a file. On a full disk the part that fits is written, as a real program would.
    pub fn write_file(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let mut files = self.machine.files();
        let path = files.resolve(&self.directory, path.as_ref(), LastLink::Follow)?;
        let mode = match files.get(&path) {
            Some(Node::Null | Node::Zero) => return Ok(()),
            Some(Node::File { mode, .. }) => *mode,
            _ => Node::FILE_MODE,
        };
        files.insert(&path, Node::File { mode, bytes: Vec::new() })?;
        let mut rest = bytes.as_ref();
        while !rest.is_empty() {
            let count = files.append(&path, rest)?;
            rest = &rest[count..];
        }
        Ok(())
    }

    /// Runs another program of the sandbox to completion with the same streams, directory and variables.
    pub(super) async fn run(mut self, command: Vec<String>) -> Result<Exit, io::Error> {
        let program = self.machine.find_program(&command, &self.environment)?;
        self.command = command;
        Ok(program(self).await)
    }

    /// Opens a file for reading from its start.
    pub(super) fn open_input(&self, path: &Path) -> io::Result<Input> {
        let is_zero = {
            let files = self.machine.files();
            let resolved = files.resolve(&self.directory, path, LastLink::Follow)?;
            matches!(files.get(&resolved), Some(Node::Zero))
        };
        if is_zero {
            return Ok(Input::Zero);
        }
        Ok(Input::new(io::Cursor::new(self.read_file(path)?)))
    }

    /// Opens a file for writing, truncated or at its end.
    pub(super) fn open_output(&self, path: &Path, start: WriteStart) -> io::Result<Output> {
        let mut files = self.machine.files();
        let path = files.resolve(&self.directory, path, LastLink::Follow)?;
        let (mode, bytes) = match files.get(&path) {
            Some(Node::Null | Node::Zero) => return Ok(Output::Null),
            Some(Node::File { mode, bytes }) => (*mode, Some(bytes)),
            _ => (Node::FILE_MODE, None),
        };
        if bytes.is_none() || start == WriteStart::Empty {
            files.insert(&path, Node::File { mode, bytes: Vec::new() })?;
        }
        Ok(Output::File { machine: Arc::clone(&self.machine), path })
    }
}

/// Whether a file is truncated or appended to when it is opened for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteStart {
    Empty,
    End,
}
