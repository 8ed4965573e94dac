//! Shared state of one fake sandbox: files, and the paused and destroyed flags.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use menace_model::sandbox::SandboxSpec;
use menace_sandbox::SandboxError;
use tokio::sync::watch;

use crate::error_number;
use crate::file_system::{FakeFileNode, FakeFileSystem};
use crate::invocation::FakeProgram;
use crate::programs;
use crate::resolve::FinalSymlink;

/// Directories in which fake programs appear to be.
const PROGRAM_DIRECTORIES: [&str; 2] = ["/usr/bin", "/bin"];

pub(crate) struct FakeMachine {
    pub(crate) id: String,
    pub(crate) spec: SandboxSpec,
    files: Mutex<FakeFileSystem>,
    pub(crate) paused: watch::Sender<bool>,
    pub(crate) destroyed: watch::Sender<bool>,
    pub(crate) running: watch::Sender<u64>,
    next_process: AtomicU64,
}

impl FakeMachine {
    pub(crate) fn new(id: String, spec: SandboxSpec, files: FakeFileSystem) -> Self {
        Self {
            id,
            spec,
            files: Mutex::new(files),
            paused: watch::Sender::new(false),
            destroyed: watch::Sender::new(false),
            running: watch::Sender::new(0),
            // Process id 1 is the init process of a sandbox, which is not a command.
            next_process: AtomicU64::new(2),
        }
    }

    pub(crate) fn files(&self) -> MutexGuard<'_, FakeFileSystem> {
        // No program panics while it holds the lock.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn check_alive(&self) -> Result<(), SandboxError> {
        if *self.destroyed.borrow() { Err(SandboxError::Gone { id: self.id.clone() }) } else { Ok(()) }
    }

    pub(crate) fn new_process_number(&self) -> u64 {
        self.next_process.fetch_add(1, Ordering::Relaxed)
    }

    /// Looks up the program of a command as `execvp` does.
    pub(crate) fn find_program(
        &self,
        command: &[String],
        environment: &BTreeMap<String, String>,
    ) -> io::Result<FakeProgram> {
        let called = command.first().ok_or_else(error_number::missing)?;
        let name = match called.rsplit_once('/') {
            Some((directory, name)) if PROGRAM_DIRECTORIES.contains(&directory) => name,
            Some(_) => return Err(self.why_not_a_program(called)),
            None if searches_programs(environment) => called.as_str(),
            None => return Err(error_number::missing()),
        };
        programs::find(name).ok_or_else(error_number::missing)
    }

    fn why_not_a_program(&self, called: &str) -> io::Error {
        let files = self.files();
        match files.resolve(Path::new("/"), Path::new(called), FinalSymlink::Follow) {
            Err(error) => error,
            Ok(path) => match files.get(&path) {
                None => error_number::missing(),
                Some(FakeFileNode::File { mode, .. }) if mode & 0o111 != 0 => {
                    io::Error::new(io::ErrorKind::Unsupported, "the fake backend does not execute files")
                }
                Some(_) => io::Error::from_raw_os_error(libc::EACCES),
            },
        }
    }
}

fn searches_programs(environment: &BTreeMap<String, String>) -> bool {
    let path = environment.get("PATH").map_or("/bin:/usr/bin", String::as_str);
    path.split(':').any(|directory| PROGRAM_DIRECTORIES.contains(&directory))
}
