//! Queue of commands from other threads to the thread of a network.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use menace_model::network::{FlowRequest, NetworkReport, NetworkSpec};
use rustix::event::{EventfdFlags, eventfd};

use super::flow_entry::FlowKey;
use crate::dns::DnsQuestion;
use crate::resolver::DnsLookupResult;

#[derive(Debug)]
pub(crate) enum NetstackCommand {
    Change(Box<NetworkSpec>),
    Report(Sender<NetworkReport>),
    /// Result of a lookup.
    Resolved {
        key: FlowKey,
        question: Box<DnsQuestion>,
        found: DnsLookupResult,
    },
    /// Request to a mock.
    Requested {
        token: u64,
        request: Box<FlowRequest>,
    },
    End,
}

#[derive(Debug)]
pub(crate) struct NetstackInbox {
    /// `None` when the reader has ended.
    commands: Mutex<Option<VecDeque<NetstackCommand>>>,
    wake: OwnedFd,
}

impl NetstackInbox {
    pub(super) fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { commands: Mutex::new(Some(VecDeque::new())), wake })
    }

    /// Sends a command. If the reader has ended, the command is dropped, so that a caller that waits for an answer is woken.
    pub(crate) fn send(&self, command: NetstackCommand) {
        match &mut *self.lock() {
            Some(commands) => commands.push_back(command),
            None => return,
        }
        // The write fails only if the counter is full, and then the thread is already being woken.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Removes all commands.
    pub(super) fn take(&self) -> VecDeque<NetstackCommand> {
        // The read fails only if no command was sent.
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        self.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<VecDeque<NetstackCommand>>> {
        // Nothing panics while it holds the lock.
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes an inbox when its reader ends, also by a panic.
#[derive(Debug)]
pub(super) struct InboxCloseGuard(pub(super) Arc<NetstackInbox>);

impl Drop for InboxCloseGuard {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

impl AsFd for NetstackInbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_does_not_wait_for_an_ended_reader() {
        let inbox = Arc::new(NetstackInbox::new().unwrap());
        let (sender, before) = std::sync::mpsc::channel();
        inbox.send(NetstackCommand::Report(sender));
        drop(InboxCloseGuard(Arc::clone(&inbox)));
        before.recv().unwrap_err();
        let (sender, after) = std::sync::mpsc::channel();
        inbox.send(NetstackCommand::Report(sender));
        after.recv().unwrap_err();
    }
}
