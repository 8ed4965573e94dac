//! Our end of the channel to a keeper: the process that keeps a place for calls.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use menace_enter::zygote::{CallStart, KeeperReport, SlotPlan};
use menace_enter::{channel, tun};
use menace_model::sandbox::Usage;

use super::base::Base;
use crate::SandboxError;
use crate::native::handle::unsupported;
use crate::native::wire::Socket;

/// A keeper. Dropping it ends it, and the call under way.
pub(super) struct Keeper {
    channel: Socket,
    /// What the caller that waits has handed over.
    handed_over: VecDeque<OwnedFd>,
}

/// How a call ended, as its keeper saw it.
pub(super) struct CallEnd {
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) timed_out: bool,
    pub(super) disk_full: bool,
    pub(super) usage: Usage,
}

impl Keeper {
    /// Lets the interpreter start one; `None` when the interpreter is dead.
    pub(super) async fn start(
        base: &Base,
        plan: &SlotPlan,
        joined: &[OwnedFd],
    ) -> Result<Option<Self>, SandboxError> {
        let (ours, theirs) = channel::pair().map_err(SandboxError::io("open a channel to a keeper"))?;
        let channel = Socket::new(ours).map_err(SandboxError::io("watch a keeper"))?;
        // Not every host lets everybody open the device; root can make the interface in a network of others.
        let is_made_there = plan.interface.is_some() && !base.is_privileged();
        let device = is_made_there.then(tun::find).transpose().map_err(|error| unsupported(&error))?;
        let device: Vec<_> = device.iter().map(AsFd::as_fd).collect();
        channel.send(plan, &device).await.map_err(SandboxError::io("send the plan of calls"))?;
        let descriptors: Vec<_> = [&theirs].into_iter().chain(joined).map(AsFd::as_fd).collect();
        Ok(base
            .start_keeper(&descriptors)
            .await
            .is_ok()
            .then_some(Self { channel, handed_over: VecDeque::new() }))
    }

    /// Waits until a caller waits for its call; false when the keeper is dead.
    pub(super) async fn ready(&mut self) -> Result<bool, SandboxError> {
        match self.hear().await? {
            None => Ok(false),
            Some((KeeperReport::Ready, handed_over)) => {
                self.handed_over = handed_over.into();
                Ok(true)
            }
            Some((KeeperReport::Failed(error), _)) => Err(unsupported(&error)),
            Some((KeeperReport::Ended { .. }, _)) => Err(confused()),
        }
    }

    /// What the caller that waits has handed over, in the order of its plan.
    pub(super) fn handed_over(&mut self) -> VecDeque<OwnedFd> {
        std::mem::take(&mut self.handed_over)
    }

    /// Starts the call; false when the keeper is dead.
    pub(super) async fn begin(&self, timeout: Duration, descriptors: &[BorrowedFd<'_>]) -> bool {
        self.channel.send(&CallStart { timeout }, descriptors).await.is_ok()
    }

    /// Waits for the end of the call; `None` when the keeper is dead.
    pub(super) async fn end(&self) -> Result<Option<CallEnd>, SandboxError> {
        match self.hear().await? {
            None => Ok(None),
            Some((
                KeeperReport::Ended {
                    exit_code,
                    signal,
                    timed_out,
                    cpu_user_us,
                    cpu_system_us,
                    largest_process_bytes,
                    disk_full,
                },
                _,
            )) => {
                let usage = Usage {
                    cpu_user_ms: Some(cpu_user_us as f64 / 1e3),
                    cpu_system_ms: Some(cpu_system_us as f64 / 1e3),
                    peak_rss_bytes: Some(largest_process_bytes),
                    io_read_bytes: None,
                    io_write_bytes: None,
                    cpu_throttled_ms: None,
                };
                Ok(Some(CallEnd { exit_code, signal, timed_out, disk_full, usage }))
            }
            Some((KeeperReport::Ready | KeeperReport::Failed(_), _)) => Err(confused()),
        }
    }

    async fn hear(&self) -> Result<Option<(KeeperReport, Vec<OwnedFd>)>, SandboxError> {
        self.channel.receive().await.map_err(SandboxError::io("hear from a keeper"))
    }
}

fn confused() -> SandboxError {
    SandboxError::Protocol("the keeper of a call said something out of turn".into())
}
