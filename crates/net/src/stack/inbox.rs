//! What the thread of a network is told by others.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use menace_model::network::{FlowRequest, NetworkReport, NetworkSpec};
use rustix::event::{EventfdFlags, eventfd};

use super::entry::Key;
use crate::dns::Question;
use crate::resolve::Found;

#[derive(Debug)]
pub(crate) enum Command {
    Change(Box<NetworkSpec>),
    Report(Sender<NetworkReport>),
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
    /// Nothing when nobody reads it any more.
    commands: Mutex<Option<VecDeque<Command>>>,
    wake: OwnedFd,
}

impl Inbox {
    pub(super) fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { commands: Mutex::new(Some(VecDeque::new())), wake })
    }

    /// Tells something. Whoever waits for an answer that nobody will give notices that at once.
    pub(crate) fn tell(&self, command: Command) {
        match &mut *self.lock() {
            Some(commands) => commands.push_back(command),
            None => return,
        }
        // It is full only if it is about to wake the thread already.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Everything that was told.
    pub(super) fn take(&self) -> VecDeque<Command> {
        // There is nothing to read only if nobody has written.
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        self.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<VecDeque<Command>>> {
        // Nothing panics while it holds the lock.
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes an inbox when its reader ends, however that happens.
#[derive(Debug)]
pub(super) struct Closing(pub(super) Arc<Inbox>);

impl Drop for Closing {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_a_reader_that_has_ended_does_not_wait() {
        let inbox = Arc::new(Inbox::new().unwrap());
        let (sender, before) = std::sync::mpsc::channel();
        inbox.tell(Command::Report(sender));
        drop(Closing(Arc::clone(&inbox)));
        before.recv().unwrap_err();
        let (sender, after) = std::sync::mpsc::channel();
        inbox.tell(Command::Report(sender));
        after.recv().unwrap_err();
    }
}
