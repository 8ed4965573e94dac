//! Places for calls: as many as may run at once, each with a control group that is used again and again.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use menace_model::sandbox::{Limits, Usage};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::keeper::Keeper;
use crate::SandboxError;
use crate::native::backend::Shared;
use crate::native::cgroup::Group;
use crate::native::{cpu_time, limits};

/// All places of a zygote.
pub(super) struct Slots {
    free: Arc<Mutex<VecDeque<Place>>>,
    permits: Arc<Semaphore>,
    /// Memory of each process, where no group limits that of all.
    pub(super) data_bytes: Option<u64>,
}

/// A place that a call has.
pub(super) struct Slot {
    place: Option<Place>,
    free: Arc<Mutex<VecDeque<Place>>>,
    _permit: OwnedSemaphorePermit,
}

struct Place {
    group: Option<Group>,
    joined: Vec<OwnedFd>,
    /// Who keeps the place; nobody before the first call, and after a call that was given up.
    keeper: Option<Keeper>,
}

/// Counters of a place before a call.
pub(super) struct Before {
    usage: Usage,
    oom_kills: u64,
}

impl Slots {
    pub(super) fn new(
        shared: &Shared,
        limits: &Limits,
        parallel: usize,
        id: &str,
    ) -> Result<Self, SandboxError> {
        let kept = limits::keep(limits, &shared.hierarchies);
        let mut places = VecDeque::new();
        for number in 0..parallel {
            let id = format!("{id}-{number}");
            let group = if kept.needs_group() {
                Some(shared.groups.create(&id, &kept.by_cgroup, &kept.counted)?)
            } else {
                None
            };
            let joined = group.as_ref().map_or(Ok(Vec::new()), Group::late_join_descriptors)?;
            places.push_back(Place { group, joined, keeper: None });
        }
        Ok(Self {
            free: Arc::new(Mutex::new(places)),
            permits: Arc::new(Semaphore::new(parallel)),
            data_bytes: kept.data_bytes,
        })
    }

    /// Waits for a place, and takes the one that has been free for longest: its next caller is most likely inside.
    pub(super) async fn take(&self) -> Slot {
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed");
        let place = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Slot { place, free: Arc::clone(&self.free), _permit: permit }
    }
}

impl Slot {
    /// Files through which the call joins.
    pub(super) fn joined(&self) -> &[OwnedFd] {
        self.place.as_ref().map_or(&[], |place| &place.joined)
    }

    /// Whoever keeps the place. A call that is given up does not give the keeper back, and so ends it.
    pub(super) fn take_keeper(&mut self) -> Option<Keeper> {
        self.place.as_mut()?.keeper.take()
    }

    /// Leaves the keeper to the next call.
    pub(super) fn leave_keeper(&mut self, keeper: Keeper) {
        if let Some(place) = &mut self.place {
            place.keeper = Some(keeper);
        }
    }

    /// Whether a process is in the group of the place, as far as the group counts them.
    pub(super) fn is_occupied(&self) -> bool {
        self.group().and_then(|group| group.pids_now().ok().flatten()).is_some_and(|count| count > 0)
    }

    fn group(&self) -> Option<&Group> {
        self.place.as_ref()?.group.as_ref()
    }

    /// Looks before the call.
    pub(super) fn before(&self) -> Result<Before, SandboxError> {
        let Some(group) = self.group() else { return Ok(Before { usage: Usage::default(), oom_kills: 0 }) };
        group.reset_peak()?;
        Ok(Before { usage: group.usage()?, oom_kills: group.oom_kills()?.unwrap_or(0) })
    }

    /// What the call took as far as the group counted it, and whether memory ran out.
    pub(super) fn after(&self, before: &Before, measured: Usage) -> Result<(Usage, bool), SandboxError> {
        let Some(group) = self.group() else { return Ok((measured, false)) };
        let now = group.usage()?;
        let (cpu_user_ms, cpu_system_ms) = cpu_time::between(&before.usage, &now, &measured, 0.0);
        let usage = Usage {
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
