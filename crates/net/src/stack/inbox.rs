//! What the thread of a network is told by others.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use menace_model::network::{FlowRequest, NetworkReport, NetworkSpec};
use rustix::event::{EventfdFlags, eventfd};

use super::entry::Key;
use crate::dns::Question;
use crate::resolve::Found;

#[derive(Debug)]
pub(crate) enum Command {
    Change(Box<NetworkSpec>),
    Report(Sender<NetworkReport>),
    Renew(Option<Box<NetworkSpec>>, Sender<NetworkReport>),
    /// A name was looked up.
    Resolved {
        key: Key,
        question: Box<Question>,
        found: Found,
    },
    /// A mock has answered, or will not.
    Requested {
        token: u64,
        request: Box<FlowRequest>,
    },
    End,
}

#[derive(Debug)]
pub(crate) struct Inbox {
    commands: Mutex<VecDeque<Command>>,
    wake: OwnedFd,
}

impl Inbox {
    pub(super) fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { commands: Mutex::default(), wake })
    }

    pub(crate) fn tell(&self, command: Command) {
        self.lock().push_back(command);
        // It is full only if it is about to wake the thread already.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Everything that was told.
    pub(super) fn take(&self) -> VecDeque<Command> {
        // There is nothing to read only if nobody has written.
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Command>> {
        // Nothing panics while it holds the lock.
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
