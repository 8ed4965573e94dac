//! A first process that is made before anybody has ordered its sandbox.
//!
//! New namespaces take a third of the time until a sandbox is ready, and they are the same for all. While one sandbox
//! is used, the launcher makes them for the next.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use menace_enter::channel::{pair, send};
use menace_enter::clone::{Forked, fork_into};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::native::init;
use crate::native::protocol::{Order, Report};

/// Whoever wants one sandbox may want no other; whoever wants a second one is likely to want more.
const WORTHWHILE_FROM: u64 = 2;

/// The spare process, when there is one.
pub(super) struct Spares {
    namespaces: libc::c_int,
    spare: Option<Spare>,
    /// The channel of the last one that was used, which is closed when its sandbox is ready or gone.
    last: Option<OwnedFd>,
    /// How many sandboxes were ordered that a spare could have become.
    ordered: u64,
}

/// What the launcher has to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Order,
    Spare,
}

struct Spare {
    channel: OwnedFd,
    handle: OwnedFd,
}

impl Spares {
    pub(super) fn new(namespaces: libc::c_int) -> Self {
        Self { namespaces, spare: None, last: None, ordered: 0 }
    }

    /// Lets the spare process become what was ordered. Without one that can, the descriptors are given back.
    pub(super) fn launch(&mut self, order: &Order, descriptors: Vec<OwnedFd>) -> Option<Vec<OwnedFd>> {
        if !init::begins_as_usual(order) {
            return Some(descriptors);
        }
        self.ordered += 1;
        let Some(spare) = self.spare.take() else { return Some(descriptors) };
        let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        // One that was killed cannot be told anything.
        if send(&spare.channel, order, &borrowed).is_err() {
            return Some(descriptors);
        }
        let sandbox = borrowed.first()?;
        // A caller that has closed its end does not want the sandbox any more, whose first process notices that itself.
        drop(send(sandbox, &Report::Born, &[spare.handle.as_fd()]));
        self.last = Some(spare.channel);
        None
    }

    /// Waits for an order, or for the moment to make a spare process.
    pub(super) fn wait_for_order(&mut self, orders: &OwnedFd) -> io::Result<Wanted> {
        let is_wanted = self.spare.is_none() && self.ordered >= WORTHWHILE_FROM;
        let Some(last) = self.last.as_ref().filter(|_| is_wanted) else {
            return Ok(if is_wanted { Wanted::Spare } else { Wanted::Order });
        };
        let mut polled = [PollFd::new(orders, PollFlags::IN), PollFd::new(last, PollFlags::empty())];
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !polled[0].revents().is_empty() {
            return Ok(Wanted::Order);
        }
        self.last = None;
        Ok(Wanted::Spare)
    }

    /// Makes a spare process. If that is impossible, the next sandbox is made without, and says why if it cannot be.
    pub(super) fn refill(&mut self) {
        // Not again before the next order.
        self.ordered = 1;
        let Ok((ours, theirs)) = pair() else { return };
        // SAFETY: the launcher has one thread.
        self.spare = match unsafe { fork_into(self.namespaces, None) } {
            Ok(Forked::Child) => init::spare_main(theirs),
            Ok(Forked::Parent { pidfd, .. }) => Some(Spare { channel: ours, handle: pidfd }),
            Err(_) => None,
        };
    }
}
