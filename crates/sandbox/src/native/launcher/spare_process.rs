//! Spare init process, created before a sandbox is ordered.
//!
//! Creating namespaces takes a third of the time until a sandbox is ready, and they are the same for all sandboxes.
//! While one sandbox is used, the launcher creates them for the next.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use menace_isolation::channel::{pair, send};
use menace_isolation::clone::{ForkResult, fork_into};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::native::init;
use crate::native::protocol::{InitReport, SandboxOrder};

/// Number of orders from which a spare is created: a caller that orders a second sandbox is likely to order more.
const WORTHWHILE_FROM: u64 = 2;

/// Holder of the spare process, if there is one.
pub(super) struct SpareProcessHolder {
    namespaces: libc::c_int,
    spare: Option<SpareInitProcess>,
    /// Channel of the last spare that was used; closed when its sandbox is ready or gone.
    last: Option<OwnedFd>,
    /// Number of ordered sandboxes that a spare could have become.
    ordered: u64,
}

/// Next action of the launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LauncherAction {
    Order,
    Spare,
}

struct SpareInitProcess {
    channel: OwnedFd,
    handle: OwnedFd,
}

impl SpareProcessHolder {
    pub(super) fn new(namespaces: libc::c_int) -> Self {
        Self { namespaces, spare: None, last: None, ordered: 0 }
    }

    /// Sends the order to the spare process. Without a suitable spare, the descriptors are returned.
    pub(super) fn launch(&mut self, order: &SandboxOrder, descriptors: Vec<OwnedFd>) -> Option<Vec<OwnedFd>> {
        if !init::has_standard_start(order) {
            return Some(descriptors);
        }
        self.ordered += 1;
        let Some(spare) = self.spare.take() else { return Some(descriptors) };
        let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        // The send fails if the spare was killed.
        if send(&spare.channel, order, &borrowed).is_err() {
            return Some(descriptors);
        }
        let sandbox = borrowed.first()?;
        // A caller that has closed its end no longer wants the sandbox, and the init process notices that itself.
        drop(send(sandbox, &InitReport::Born, &[spare.handle.as_fd()]));
        self.last = Some(spare.channel);
        None
    }

    /// Waits for an order, or for the time to create a spare process.
    pub(super) fn wait_for_order(&mut self, orders: &OwnedFd) -> io::Result<LauncherAction> {
        let is_wanted = self.spare.is_none() && self.ordered >= WORTHWHILE_FROM;
        let Some(last) = self.last.as_ref().filter(|_| is_wanted) else {
            return Ok(if is_wanted { LauncherAction::Spare } else { LauncherAction::Order });
        };
        let mut polled = [PollFd::new(orders, PollFlags::IN), PollFd::new(last, PollFlags::empty())];
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !polled[0].revents().is_empty() {
            return Ok(LauncherAction::Order);
        }
        self.last = None;
        Ok(LauncherAction::Spare)
    }

    /// Creates a spare process. If that fails, the next sandbox is created without one and reports its own error.
    pub(super) fn refill(&mut self) {
        // No further spare before the next order.
        self.ordered = 1;
        let Ok((ours, theirs)) = pair() else { return };
        // SAFETY: the launcher has one thread.
        self.spare = match unsafe { fork_into(self.namespaces, None) } {
            Ok(ForkResult::Child) => init::spare_main(theirs),
            Ok(ForkResult::Parent { pidfd, .. }) => Some(SpareInitProcess { channel: ours, handle: pidfd }),
            Err(_) => None,
        };
    }
}
