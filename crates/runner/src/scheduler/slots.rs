//! Slots: how many calls run concurrently, and which of them must not overlap.

use std::collections::BTreeMap;
use std::future::Future;

use menace_sandbox::SandboxError;
use tokio::task::JoinSet;

use crate::stress::{FaultEvidence, StressProfile};

/// Resources of running calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallNeeds {
    /// Number of them that run in place of one ordinary call.
    pub(crate) per_slot: usize,
    /// They wait for the network and use no CPU, so that they occupy no slot of an ordinary call.
    pub(crate) waits_for_network: bool,
    /// They compete for the CPU on purpose, so that they must not overlap with ordinary calls.
    pub(crate) starves: bool,
    /// They need the outcomes of all calls that were started before.
    pub(crate) follows_others: bool,
}

impl CallNeeds {
    /// Needs of work that occupies one slot.
    pub(crate) const ONE_SLOT: Self =
        Self { per_slot: 1, waits_for_network: false, starves: false, follows_others: false };

    /// Needs of calls under a stress profile, of sections that are known to use the network or not.
    pub(crate) fn of(profile: &StressProfile, uses_network: bool) -> Self {
        Self {
            per_slot: profile.calls_per_slot(uses_network),
            waits_for_network: profile.disturbs_network(),
            starves: profile.proofs.contains(&FaultEvidence::Starved),
            follows_others: false,
        }
    }
}

/// Slots of an executor. Dropping them aborts what runs in them.
pub(crate) struct CallSlots<T> {
    /// Number of ordinary calls that run concurrently.
    parallel: usize,
    /// Running work, and whether it waits for the network.
    under_way: JoinSet<(bool, T)>,
    /// How many of them wait for the network.
    waiting: usize,
    /// Whether the latest of them starve.
    starving: bool,
}

impl<T: Send + 'static> CallSlots<T> {
    /// Slots for a number of concurrent ordinary calls.
    pub(crate) fn new(parallel: usize) -> Self {
        Self { parallel, under_way: JoinSet::new(), waiting: 0, starving: false }
    }

    /// Whether work with these needs can start now.
    pub(crate) fn has_room(&self, needs: CallNeeds) -> bool {
        let ordinary = self.under_way.len() - self.waiting;
        if needs.follows_others || needs.starves != self.starving {
            return ordinary == 0;
        }
        let running = if needs.waits_for_network { self.waiting } else { ordinary };
        running < self.parallel.saturating_mul(needs.per_slot).max(1)
    }

    /// Starts work, whether there is room or not.
    pub(crate) fn start(&mut self, needs: CallNeeds, work: impl Future<Output = T> + Send + 'static) {
        self.starving = needs.starves;
        let waits = needs.waits_for_network;
        self.waiting += usize::from(waits);
        self.under_way.spawn(async move { (waits, work.await) });
    }

    /// Waits for the next result; `None` if nothing runs.
    pub(crate) async fn next(&mut self) -> Option<Result<T, SandboxError>> {
        let (waits, result) = match self.under_way.join_next().await? {
            Ok(ended) => ended,
            Err(error) => return Some(Err(SandboxError::Protocol(format!("a call task failed: {error}")))),
        };
        self.waiting -= usize::from(waits);
        Some(Ok(result))
    }
}

/// Number of concurrent jobs that only the executor limits.
pub(crate) const UNLIMITED: usize = usize::MAX;

/// Runs jobs of one slot each and returns their results in the order of the jobs. A job is taken from the iterator when
/// there is room for it. The first error ends all.
pub(crate) async fn run_all<T, E, Job>(
    parallel: usize,
    jobs: impl IntoIterator<Item = Job>,
    mut job_ended: impl FnMut(),
) -> Result<Vec<T>, E>
where
    T: Send + 'static,
    E: From<SandboxError> + Send + 'static,
    Job: Future<Output = Result<T, E>> + Send + 'static,
{
    let mut slots = CallSlots::new(parallel);
    let mut jobs = jobs.into_iter().enumerate().fuse();
    let mut results = BTreeMap::new();
    loop {
        while slots.has_room(CallNeeds::ONE_SLOT) {
            let Some((number, job)) = jobs.next() else { break };
            slots.start(CallNeeds::ONE_SLOT, async move { (number, job.await) });
        }
        let Some(ended) = slots.next().await else { break };
        let (number, result) = ended?;
        results.insert(number, result?);
        job_ended();
    }
    Ok(results.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITING: CallNeeds = CallNeeds { waits_for_network: true, per_slot: 2, ..CallNeeds::ONE_SLOT };
    const STARVING: CallNeeds = CallNeeds { starves: true, ..CallNeeds::ONE_SLOT };
    const FOLLOWING: CallNeeds = CallNeeds { follows_others: true, ..CallNeeds::ONE_SLOT };

    fn running(needs: &[CallNeeds]) -> CallSlots<()> {
        let mut slots = CallSlots::new(2);
        for needs in needs {
            assert!(slots.has_room(*needs), "{needs:?}");
            slots.start(*needs, std::future::pending());
        }
        slots
    }

    #[tokio::test]
    async fn calls_that_wait_for_the_network_occupy_no_ordinary_slot() {
        let full = running(&[CallNeeds::ONE_SLOT, CallNeeds::ONE_SLOT, WAITING, WAITING, WAITING, WAITING]);
        assert!(!full.has_room(CallNeeds::ONE_SLOT) && !full.has_room(WAITING));
    }

    #[tokio::test]
    async fn starving_calls_overlap_only_with_each_other_and_with_waiting_ones() {
        assert!(!running(&[CallNeeds::ONE_SLOT]).has_room(STARVING));
        let starving = running(&[WAITING, STARVING]);
        assert!(starving.has_room(STARVING) && !starving.has_room(CallNeeds::ONE_SLOT));
    }

    #[tokio::test]
    async fn a_call_that_follows_others_starts_after_them() {
        assert!(running(&[WAITING]).has_room(FOLLOWING));
        assert!(!running(&[CallNeeds::ONE_SLOT]).has_room(FOLLOWING));
    }

    #[tokio::test]
    async fn results_are_in_the_order_of_the_jobs() {
        let jobs = (0..4_u32).map(|number| async move {
            // The first job ends last.
            for _ in number..4 {
                tokio::task::yield_now().await;
            }
            Ok::<_, SandboxError>(number)
        });
        let mut ended = 0;
        assert_eq!(run_all(3, jobs, || ended += 1).await.unwrap(), [0, 1, 2, 3]);
        assert_eq!(ended, 4);
    }

    #[tokio::test]
    async fn the_first_error_ends_all_jobs() {
        let jobs = (0..3).map(|number| async move {
            if number == 1 {
                return Err(SandboxError::Protocol("broken".into()));
            }
            std::future::pending::<Result<(), _>>().await
        });
        assert_eq!(run_all(3, jobs, || {}).await.unwrap_err().to_string(), "broken");
    }
}
