//! Caller's end of the channel to a slot supervisor: the process that owns a slot and forks its calls.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use menace_isolation::zygote::{CallStart, SlotPlan, SlotSupervisorReport};
use menace_isolation::{channel, tun};
use menace_model::sandbox::ResourceUsage;

use super::base_sandbox::BaseSandbox;
use crate::SandboxError;
use crate::native::init_channel::ChannelSocket;
use crate::native::launcher_handle::unsupported;

/// Handle of a slot supervisor. Dropping it ends the supervisor and the call under way.
pub(super) struct SlotSupervisor {
    channel: ChannelSocket,
    /// Descriptors that the waiting call process has sent.
    handed_over: VecDeque<OwnedFd>,
}

/// End of a call as its slot supervisor reports it.
pub(super) struct CallEnd {
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) timed_out: bool,
    pub(super) disk_full: bool,
    pub(super) usage: ResourceUsage,
}

impl SlotSupervisor {
    /// Starts a supervisor through the interpreter; `None` when the interpreter is dead.
    pub(super) async fn start(
        base: &BaseSandbox,
        plan: &SlotPlan,
        joined: &[OwnedFd],
    ) -> Result<Option<Self>, SandboxError> {
        let (ours, theirs) =
            channel::pair().map_err(SandboxError::io("open a channel to a slot supervisor"))?;
        let channel = ChannelSocket::new(ours).map_err(SandboxError::io("watch a slot supervisor"))?;
        // Some hosts restrict /dev/net/tun to root; root can create the interface in another network namespace later.
        let is_made_there = plan.interface.is_some() && !base.is_privileged();
        let device = is_made_there.then(tun::find).transpose().map_err(|error| unsupported(&error))?;
        let device: Vec<_> = device.iter().map(AsFd::as_fd).collect();
        channel.send(plan, &device).await.map_err(SandboxError::io("send the slot plan"))?;
        let descriptors: Vec<_> = [&theirs].into_iter().chain(joined).map(AsFd::as_fd).collect();
        Ok(base
            .start_slot_supervisor(&descriptors)
            .await
            .is_ok()
            .then_some(Self { channel, handed_over: VecDeque::new() }))
    }

    /// Waits until a process waits for its call; false when the supervisor is dead.
    pub(super) async fn ready(&mut self) -> Result<bool, SandboxError> {
        match self.receive_report().await? {
            None => Ok(false),
            Some((SlotSupervisorReport::Ready, handed_over)) => {
                self.handed_over = handed_over.into();
                Ok(true)
            }
            Some((SlotSupervisorReport::Failed(error), _)) => Err(unsupported(&error)),
            Some((SlotSupervisorReport::Ended { .. }, _)) => Err(unexpected_report()),
        }
    }

    /// Takes the descriptors that the waiting call process has sent, in the order of its plan.
    pub(super) fn handed_over(&mut self) -> VecDeque<OwnedFd> {
        std::mem::take(&mut self.handed_over)
    }

    /// Starts the call; false when the supervisor is dead.
    pub(super) async fn begin(&self, timeout: Duration, descriptors: &[BorrowedFd<'_>]) -> bool {
        self.channel.send(&CallStart { timeout }, descriptors).await.is_ok()
    }

    /// Waits for the end of the call; `None` when the supervisor is dead.
    pub(super) async fn end(&self) -> Result<Option<CallEnd>, SandboxError> {
        match self.receive_report().await? {
            None => Ok(None),
            Some((
                SlotSupervisorReport::Ended {
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
                let usage = ResourceUsage {
                    cpu_user_ms: Some(cpu_user_us as f64 / 1e3),
                    cpu_system_ms: Some(cpu_system_us as f64 / 1e3),
                    peak_rss_bytes: Some(largest_process_bytes),
                    io_read_bytes: None,
                    io_write_bytes: None,
                    cpu_throttled_ms: None,
                };
                Ok(Some(CallEnd { exit_code, signal, timed_out, disk_full, usage }))
            }
            Some((SlotSupervisorReport::Ready | SlotSupervisorReport::Failed(_), _)) => {
                Err(unexpected_report())
            }
        }
    }

    async fn receive_report(&self) -> Result<Option<(SlotSupervisorReport, Vec<OwnedFd>)>, SandboxError> {
        self.channel.receive().await.map_err(SandboxError::io("receive from a slot supervisor"))
    }
}

fn unexpected_report() -> SandboxError {
    SandboxError::Protocol("unexpected report from a slot supervisor".into())
}
