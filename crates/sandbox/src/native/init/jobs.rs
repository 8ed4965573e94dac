//! What runs in the sandbox, as its first process knows it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::inspect::own_cpu_us;
use super::program::NotStarted;
use crate::native::protocol::End;

/// A child of the first process, on behalf of a request.
pub(super) struct Job {
    pub(super) id: u64,
    pub(super) kind: JobKind,
    /// The child: the program itself, its leader, or the one that does some work.
    pub(super) child: Pid,
    /// The program, once it runs.
    pub(super) program: Option<Pid>,
    /// Where the child writes notes.
    pub(super) notes: Option<File>,
    /// The last note that is not about the start.
    pub(super) last_note: Option<Note>,
    /// Bytes that had been read and written when it began.
    pub(super) io_before: (u64, u64),
    /// CPU time of the first process when it began.
    pub(super) own_cpu_before_us: u64,
    /// When it began.
    pub(super) began: Instant,
    /// The sandbox ends with it.
    pub(super) is_only_one: bool,
    unread: Vec<u8>,
}

/// What the child of a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobKind {
    /// The program itself.
    Alone,
    /// The leader of the program.
    Led,
    /// A copy of the first process.
    Work,
}

/// What the child of a job has to say. Notes are short: a pipe takes each in one piece.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Note {
    Started(i32),
    NotStarted { errno: i32, reason: String },
    Ended(End),
    Problem(String),
}

impl From<&NotStarted> for Note {
    fn from(failure: &NotStarted) -> Self {
        let errno = failure.error.raw_os_error().unwrap_or(libc::EIO);
        Self::NotStarted { errno, reason: failure.tried.to_owned() }
    }
}

impl Note {
    /// Takes the complete notes from the front of what was read.
    pub(super) fn all_in(unread: &mut Vec<u8>) -> Vec<Self> {
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
pub(super) fn write_note(pipe: &OwnedFd, note: &Note) -> io::Result<()> {
    let body = postcard::to_allocvec(note).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let bytes = [&length.to_le_bytes()[..], &body].concat();
    let mut file = File::from(pipe.try_clone()?);
    file.write_all(&bytes)
}

impl Job {
    /// Forks a child for a job, which runs `body` with the pipe for its notes and then ends.
    pub(super) fn start(id: u64, kind: JobKind, body: impl FnOnce(&OwnedFd)) -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let Some(child) = fork()? else {
            body(&write);
            // SAFETY: _exit(2) ends the process at once. A body that returns has nothing left to say.
            unsafe { libc::_exit(1) }
        };
        Ok(Self { notes: Some(File::from(read)), ..Self::of(id, kind, child) })
    }

    /// The job of a program that has the sandbox for itself.
    pub(super) fn alone(id: u64, program: Pid) -> Self {
        Self { program: Some(program), ..Self::of(id, JobKind::Alone, program) }
    }

    fn of(id: u64, kind: JobKind, child: Pid) -> Self {
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
    pub(super) fn read_notes(&mut self) -> Vec<Note> {
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
        Note::all_in(&mut self.unread)
    }

    /// The pipe, as long as notes can come.
    pub(super) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.notes.as_ref().map(AsFd::as_fd)
    }
}

/// Forks; `None` in the child.
fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the processes inside a sandbox that run our code have one thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(Pid::from_raw(child)),
    }
}
