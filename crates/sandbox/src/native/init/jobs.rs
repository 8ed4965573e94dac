//! Jobs of the init process: programs and file work.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use menace_guest::ReportedFailure;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::inspect::own_cpu_us;
use super::program::ProgramStartFailure;
use crate::native::protocol::{JobEnd, ProgramStartStep};

/// Child of the init process that serves a request.
pub(super) struct InitJob {
    pub(super) id: u64,
    pub(super) kind: InitJobKind,
    /// The child: the program itself, its leader, or a file worker.
    pub(super) child: Pid,
    /// The program, once it runs.
    pub(super) program: Option<Pid>,
    /// Pipe from which the child's notes are read.
    pub(super) notes: Option<File>,
    /// Last note other than `Started`.
    pub(super) last_note: Option<JobNote>,
    /// Bytes read and written before the start.
    pub(super) io_before: (u64, u64),
    /// CPU time of the init process at the start.
    pub(super) own_cpu_before_us: u64,
    /// Start time.
    pub(super) began: Instant,
    /// The sandbox ends with it.
    pub(super) is_only_one: bool,
    unread: Vec<u8>,
}

/// Kind of the child of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InitJobKind {
    /// The program itself.
    Alone,
    /// The leader of the program.
    Led,
    /// A fork of the init process.
    Work,
}

/// Message from the child of a job. Notes are short: a pipe transfers each atomically.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum JobNote {
    Started(i32),
    NotStarted { errno: i32, step: ProgramStartStep },
    Ended(JobEnd),
    Failed(ReportedFailure),
}

impl From<&ProgramStartFailure> for JobNote {
    fn from(failure: &ProgramStartFailure) -> Self {
        let errno = failure.error.raw_os_error().unwrap_or(libc::EIO);
        Self::NotStarted { errno, step: failure.step }
    }
}

impl JobNote {
    /// Removes the complete notes from the front of the unread bytes and decodes them.
    pub(super) fn take_complete(unread: &mut Vec<u8>) -> Vec<Self> {
        let mut notes = Vec::new();
        while let Some((length, rest)) = unread.split_at_checked(4) {
            let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
            let Some(body) = rest.get(..length) else { break };
            notes.extend(postcard::from_bytes(body));
            unread.drain(..4 + length);
        }
        notes
    }
}

/// Writes a note.
pub(super) fn write_note(pipe: &OwnedFd, note: &JobNote) -> io::Result<()> {
    let body = postcard::to_allocvec(note).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let bytes = [&length.to_le_bytes()[..], &body].concat();
    let mut file = File::from(pipe.try_clone()?);
    file.write_all(&bytes)
}

impl InitJob {
    /// Forks a child for a job, which runs `body` with the pipe for its notes and then exits.
    pub(super) fn start(id: u64, kind: InitJobKind, body: impl FnOnce(&OwnedFd)) -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let Some(child) = fork()? else {
            body(&write);
            // SAFETY: _exit(2) ends the process immediately, and after the body nothing is left to report or flush.
            unsafe { libc::_exit(1) }
        };
        Ok(Self { notes: Some(File::from(read)), ..Self::of(id, kind, child) })
    }

    /// Job of a program that has the sandbox for itself.
    pub(super) fn alone(id: u64, program: Pid) -> Self {
        Self { program: Some(program), ..Self::of(id, InitJobKind::Alone, program) }
    }

    fn of(id: u64, kind: InitJobKind, child: Pid) -> Self {
        Self {
            id,
            kind,
            child,
            program: None,
            notes: None,
            last_note: None,
            io_before: (0, 0),
            own_cpu_before_us: own_cpu_us(),
            began: Instant::now(),
            is_only_one: false,
            unread: Vec::new(),
        }
    }

    /// Reads notes without waiting.
    pub(super) fn read_notes(&mut self) -> Vec<JobNote> {
        let Some(pipe) = &mut self.notes else { return Vec::new() };
        let mut buffer = [0; 4096];
        let is_over = loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break true,
                Ok(length) => self.unread.extend_from_slice(buffer.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break error.kind() != io::ErrorKind::WouldBlock,
            }
        };
        if is_over {
            self.notes = None;
        }
        JobNote::take_complete(&mut self.unread)
    }

    /// Pipe of the notes, while the child holds it open.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.notes.as_ref().map(AsFd::as_fd)
    }
}

/// Forks; `None` in the child.
fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: processes inside a sandbox that run our code are single-threaded.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(Pid::from_raw(child)),
    }
}
