//! Call slots: one per concurrent call, each with a control group that is reused.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use menace_model::sandbox::{ResourceUsage, SandboxLimits};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::slot_supervisor::SlotSupervisor;
use crate::SandboxError;
use crate::native::backend::NativeBackendState;
use crate::native::cgroup::ControlGroup;
use crate::native::{cpu_time, limits};

/// All slots of a zygote.
pub(super) struct SlotPool {
    free: Arc<Mutex<VecDeque<SlotResources>>>,
    permits: Arc<Semaphore>,
    /// Memory limit of each process, where no group limits that of all.
    pub(super) data_bytes: Option<u64>,
}

/// Slot that a call holds. Dropping it returns its resources.
pub(super) struct Slot {
    place: Option<SlotResources>,
    free: Arc<Mutex<VecDeque<SlotResources>>>,
    _permit: OwnedSemaphorePermit,
}

/// Resources of a slot.
struct SlotResources {
    group: Option<ControlGroup>,
    joined: Vec<OwnedFd>,
    /// Supervisor of the slot; `None` before the first call and after an abandoned call.
    keeper: Option<SlotSupervisor>,
}

/// Counters of a slot before a call.
pub(super) struct SlotStartCounters {
    usage: ResourceUsage,
    oom_kills: u64,
}

impl SlotPool {
    pub(super) fn new(
        shared: &NativeBackendState,
        limits: &SandboxLimits,
        parallel: usize,
        id: &str,
    ) -> Result<Self, SandboxError> {
        let kept = limits::assign(limits, &shared.hierarchies);
        let mut free = VecDeque::new();
        for number in 0..parallel {
            let id = format!("{id}-{number}");
            let group = if kept.needs_group() {
                Some(shared.groups.create(&id, &kept.by_cgroup, &kept.counted)?)
            } else {
                None
            };
            let joined = group.as_ref().map_or(Ok(Vec::new()), ControlGroup::late_join_descriptors)?;
            free.push_back(SlotResources { group, joined, keeper: None });
        }
        Ok(Self {
            free: Arc::new(Mutex::new(free)),
            permits: Arc::new(Semaphore::new(parallel)),
            data_bytes: kept.data_bytes,
        })
    }

    /// Waits for a slot and takes the one that has been free for longest: its next call process is most likely ready.
    pub(super) async fn take(&self) -> Slot {
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed");
        let resources = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Slot { place: resources, free: Arc::clone(&self.free), _permit: permit }
    }
}

impl Slot {
    /// Files through which the call joins the slot's groups.
    pub(super) fn joined(&self) -> &[OwnedFd] {
        self.place.as_ref().map_or(&[], |resources| &resources.joined)
    }

    /// Takes the slot's supervisor. An abandoned call does not return it, which ends the supervisor.
    pub(super) fn take_supervisor(&mut self) -> Option<SlotSupervisor> {
        self.place.as_mut()?.keeper.take()
    }

    /// Returns the supervisor for the next call.
    pub(super) fn return_supervisor(&mut self, supervisor: SlotSupervisor) {
        if let Some(resources) = &mut self.place {
            resources.keeper = Some(supervisor);
        }
    }

    /// Whether a process is in the group of the slot, as far as the group counts them.
    pub(super) fn is_occupied(&self) -> bool {
        self.group().and_then(|group| group.pids_now().ok().flatten()).is_some_and(|count| count > 0)
    }

    fn group(&self) -> Option<&ControlGroup> {
        self.place.as_ref()?.group.as_ref()
    }

    /// Reads the counters before the call.
    pub(super) fn before(&self) -> Result<SlotStartCounters, SandboxError> {
        let Some(group) = self.group() else {
            return Ok(SlotStartCounters { usage: ResourceUsage::default(), oom_kills: 0 });
        };
        group.reset_peak()?;
        Ok(SlotStartCounters { usage: group.usage()?, oom_kills: group.oom_kills()?.unwrap_or(0) })
    }

    /// Resources that the call consumed, as far as the group counted them, and whether memory ran out.
    pub(super) fn after(
        &self,
        before: &SlotStartCounters,
        measured: ResourceUsage,
    ) -> Result<(ResourceUsage, bool), SandboxError> {
        let Some(group) = self.group() else { return Ok((measured, false)) };
        let now = group.usage()?;
        let (cpu_user_ms, cpu_system_ms) = cpu_time::between(&before.usage, &now, &measured, 0.0);
        let usage = ResourceUsage {
            cpu_user_ms,
            cpu_system_ms,
            peak_rss_bytes: now.peak_rss_bytes.or(measured.peak_rss_bytes),
            cpu_throttled_ms: now
                .cpu_throttled_ms
                .map(|now| (now - before.usage.cpu_throttled_ms.unwrap_or(0.0)).max(0.0)),
            ..measured
        };
        Ok((usage, group.oom_kills()?.unwrap_or(0) > before.oom_kills))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).extend(self.place.take());
    }
}
