//! What a program of the fake is given and what it answers. Programs that tests register see the same.

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

/// How a program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It returned this.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

pub(super) type ProgramFuture = Pin<Box<dyn Future<Output = Exit> + Send>>;
pub(super) type Program = Arc<dyn Fn(Invocation) -> ProgramFuture + Send + Sync>;

/// A program that was started, from its own point of view. Relative paths are relative to its directory.
#[derive(Clone)]
pub struct Invocation {
    /// The program as it was called, then its arguments.
    pub command: Vec<String>,
    /// Its variables.
    pub environment: BTreeMap<String, String>,
    /// Where it runs.
    pub directory: PathBuf,
    pub(super) machine: Arc<Machine>,
    pub(super) stdin: Input,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
}

impl Invocation {
    /// The arguments without the program.
    pub fn arguments(&self) -> &[String] {
        self.command.get(1..).unwrap_or_default()
    }

    /// Who it runs as.
    pub fn user(&self) -> User {
        self.machine.spec.user
    }

    /// The next bytes of stdin, whatever is there first; none at its end.
    pub async fn read(&self) -> io::Result<Vec<u8>> {
        self.stdin.read(CHUNK).await
    }

    /// All of stdin.
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

    /// Writes to stdout, and waits while nobody reads it.
    pub async fn print(&self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stdout.write(bytes.as_ref()).await
    }

    /// Writes to stderr. That nobody can be told is nothing a program can tell anybody.
    pub async fn complain(&self, text: impl AsRef<[u8]>) {
        let _nobody_listens = self.stderr.write(text.as_ref()).await;
    }

    /// What is in a file.
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

    /// Makes or replaces a file. With a full disk the part that fits is written, as by a program.
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

    /// Runs another program of the sandbox to its end with the same streams, directory and variables.
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

    /// Opens a file for writing, empty or at its end.
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

/// Whether what was in a file stays when it is opened for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteStart {
    Empty,
    End,
}
