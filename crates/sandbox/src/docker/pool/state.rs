//! State of the pool: the decisions that need no engine.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use menace_model::sandbox::SandboxSpec;
use tokio::sync::Notify;

use super::backoff;
use super::events::PoolRemovalReason;
use super::key::PoolKey;

/// Number of remembered kinds that were requested once and may not be requested again.
const MOST_RARE: usize = 64;

/// Shared state of the pool, and the notification of the refill task.
pub(super) struct SharedPoolState<T> {
    state: Mutex<PoolState<T>>,
    pub(super) wake: Notify,
}

impl<T> SharedPoolState<T> {
    pub(super) fn new(size: usize, most: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(PoolState::new(size, most)), wake: Notify::new() })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, PoolState<T>> {
        // The state is consistent after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves capacity for a sandbox, with a warm container of its kind if there is one. Fails with the number of
    /// containers in use if the limit is reached.
    pub(super) fn reserve(
        self: &Arc<Self>,
        key: Option<&PoolKey>,
        now: Instant,
    ) -> Result<PoolReservation<T>, usize>
    where
        T: Send + 'static,
    {
        let mut state = self.lock();
        if state.used >= state.most {
            return Err(state.used);
        }
        state.used += 1;
        // Taken before the eviction, so that it is not evicted for itself.
        let taken = key.and_then(|key| state.take(key, now));
        let gave_way = state.evict_excess();
        drop(state);
        Ok(PoolReservation { seat: self.permit(), taken, gave_way })
    }

    /// Reserves capacity for an existing sandbox.
    pub(super) fn reserve_for_adopted(self: &Arc<Self>) -> CapacityPermit
    where
        T: Send + 'static,
    {
        self.lock().used += 1;
        self.permit()
    }

    fn permit(self: &Arc<Self>) -> CapacityPermit
    where
        T: Send + 'static,
    {
        let shared = Arc::clone(self);
        CapacityPermit(Some(Box::new(move || {
            let mut state = shared.lock();
            state.used = state.used.saturating_sub(1);
            drop(state);
            shared.wake.notify_one();
        })))
    }
}

/// Result of a reservation.
pub(super) struct PoolReservation<T> {
    pub(super) seat: CapacityPermit,
    /// Warm container of the requested kind.
    pub(super) taken: Option<T>,
    /// Container evicted to make room.
    pub(super) gave_way: Option<T>,
}

/// Reserved capacity for a container in use. Released when dropped.
pub(in super::super) struct CapacityPermit(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Drop for CapacityPermit {
    fn drop(&mut self) {
        if let Some(leave) = self.0.take() {
            leave();
        }
    }
}

/// Warm containers by kind.
pub(super) struct PoolState<T> {
    size: usize,
    most: usize,
    used: usize,
    making: usize,
    kinds: BTreeMap<PoolKey, PoolKindState<T>>,
    rare: VecDeque<PoolKey>,
}

struct PoolKindState<T> {
    template: SandboxSpec,
    image: String,
    asked: Instant,
    failures: u64,
    not_before: Instant,
    waiting: VecDeque<(T, Instant)>,
}

/// Next container to create.
#[derive(Debug)]
pub(super) enum NextCreation {
    /// A container of this kind, immediately. It counts as being created.
    Now(PoolKey, Box<SandboxSpec>),
    /// A creation failed and is retried at this time.
    At(Instant),
    /// No container is needed.
    Nothing,
}

impl<T> PoolState<T> {
    fn new(size: usize, most: usize) -> Self {
        Self { size, most, used: 0, making: 0, kinds: BTreeMap::new(), rare: VecDeque::new() }
    }

    fn waiting(&self) -> usize {
        self.kinds.values().map(|kind| kind.waiting.len()).sum()
    }

    /// Evicts a warm container that exceeds the limit, of the least recently requested kind.
    fn evict_excess(&mut self) -> Option<T> {
        if self.used + self.waiting() <= self.most {
            return None;
        }
        let waiting = self.kinds.values_mut().filter(|kind| !kind.waiting.is_empty());
        waiting.min_by_key(|kind| kind.asked)?.waiting.pop_front().map(|(one, _)| one)
    }

    /// Takes the warm container of this kind that has waited longest.
    pub(super) fn take(&mut self, key: &PoolKey, now: Instant) -> Option<T> {
        let kind = self.kinds.get_mut(key)?;
        kind.asked = now;
        kind.waiting.pop_front().map(|(one, _)| one)
    }

    /// Records a request for a kind, so that the pool is filled for the next one. Returns the evicted containers.
    pub(super) fn record_request(
        &mut self,
        key: PoolKey,
        template: SandboxSpec,
        image: &str,
        now: Instant,
    ) -> Vec<T> {
        if self.size == 0 || !self.is_worth_keeping_warm(&key) {
            return Vec::new();
        }
        let new = || PoolKindState {
            template: template.clone(),
            image: image.to_owned(),
            asked: now,
            failures: 0,
            not_before: now,
            waiting: VecDeque::new(),
        };
        let kind = self.kinds.entry(key).or_insert_with(new);
        kind.asked = now;
        kind.template = template;
        // Half of all containers may be warm; the other half is for requests of other kinds.
        let most_kinds = (self.most / 2 / self.size).max(1);
        let mut gone = Vec::new();
        while self.kinds.len() > most_kinds {
            let oldest = self.kinds.iter().min_by_key(|(_, kind)| kind.asked).map(|(key, _)| key.clone());
            let Some(kind) = oldest.and_then(|key| self.kinds.remove(&key)) else { break };
            gone.extend(kind.waiting.into_iter().map(|(one, _)| one));
        }
        gone
    }

    /// Whether a kind deserves warm containers. A kind that is rarely requested twice must be requested twice first.
    fn is_worth_keeping_warm(&mut self, key: &PoolKey) -> bool {
        if key.is_common() || self.kinds.contains_key(key) || self.rare.contains(key) {
            return true;
        }
        self.rare.push_back(key.clone());
        if self.rare.len() > MOST_RARE {
            self.rare.pop_front();
        }
        false
    }

    /// Next container to create, of the most recently requested kind.
    pub(super) fn next_creation(&mut self, now: Instant) -> NextCreation {
        if self.used + self.making + self.waiting() >= self.most {
            return NextCreation::Nothing;
        }
        let unfilled = self.kinds.iter().filter(|(_, kind)| kind.waiting.len() < self.size);
        let (ready, later): (Vec<_>, Vec<_>) = unfilled.partition(|(_, kind)| kind.not_before <= now);
        if let Some((key, kind)) = ready.into_iter().max_by_key(|(_, kind)| kind.asked) {
            self.making += 1;
            return NextCreation::Now(key.clone(), Box::new(kind.template.clone()));
        }
        later
            .into_iter()
            .map(|(_, kind)| kind.not_before)
            .min()
            .map_or(NextCreation::Nothing, NextCreation::At)
    }

    /// Adds a created container. Returns a container to remove if the limit is exceeded.
    pub(super) fn add_created(&mut self, key: &PoolKey, one: T, now: Instant) -> Option<T> {
        self.making = self.making.saturating_sub(1);
        let Some(kind) = self.kinds.get_mut(key) else { return Some(one) };
        kind.failures = 0;
        kind.waiting.push_back((one, now));
        self.evict_excess()
    }

    /// Records a failed creation and returns the delay before the next attempt.
    pub(super) fn record_failure(&mut self, key: &PoolKey, now: Instant) -> Duration {
        self.making = self.making.saturating_sub(1);
        let Some(kind) = self.kinds.get_mut(key) else { return backoff::BASE };
        kind.failures += 1;
        let wait = backoff::after(kind.failures);
        kind.not_before = now + wait;
        wait
    }

    /// Delay that a failure would cause next.
    pub(super) fn backoff(&self) -> Duration {
        backoff::after(self.kinds.values().map(|kind| kind.failures).max().unwrap_or(0))
    }

    /// Removes a kind and returns its warm containers.
    pub(super) fn forget(&mut self, key: &PoolKey) -> Vec<T> {
        self.making = self.making.saturating_sub(1);
        self.kinds.remove(key).into_iter().flat_map(|kind| kind.waiting).map(|(one, _)| one).collect()
    }

    /// Takes out containers that have waited too long. An idle kind is forgotten until it is requested again.
    pub(super) fn expired(
        &mut self,
        now: Instant,
        idle: Duration,
        lifetime: Duration,
    ) -> Vec<(T, PoolRemovalReason)> {
        let mut gone = Vec::new();
        let idle_kinds: Vec<PoolKey> = self
            .kinds
            .iter()
            .filter(|(_, kind)| now.duration_since(kind.asked) >= idle)
            .map(|(key, _)| key.clone())
            .collect();
        for key in idle_kinds {
            let kind = self.kinds.remove(&key);
            gone.extend(
                kind.into_iter().flat_map(|kind| kind.waiting).map(|(one, _)| (one, PoolRemovalReason::Idle)),
            );
        }
        for kind in self.kinds.values_mut() {
            let is_old = |since: &Instant| now.duration_since(*since) >= lifetime;
            while kind.waiting.front().is_some_and(|(_, since)| is_old(since)) {
                gone.extend(kind.waiting.pop_front().map(|(one, _)| (one, PoolRemovalReason::Lifetime)));
            }
        }
        gone
    }

    /// All warm containers.
    pub(super) fn all(&self) -> impl Iterator<Item = &T> {
        self.kinds.values().flat_map(|kind| &kind.waiting).map(|(one, _)| one)
    }

    /// Takes out the warm container that matches, if it is still there.
    pub(super) fn take_if(&mut self, matches: impl Fn(&T) -> bool) -> Option<T> {
        for kind in self.kinds.values_mut() {
            if let Some(index) = kind.waiting.iter().position(|(one, _)| matches(one)) {
                return kind.waiting.remove(index).map(|(one, _)| one);
            }
        }
        None
    }

    /// Number of warm containers by image name.
    pub(super) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for kind in self.kinds.values() {
            *counts.entry(kind.image.clone()).or_default() += kind.waiting.len();
        }
        counts
    }

    /// Removes all kinds and returns their warm containers.
    pub(super) fn clear(&mut self) -> Vec<T> {
        let kinds = std::mem::take(&mut self.kinds);
        kinds.into_values().flat_map(|kind| kind.waiting).map(|(one, _)| one).collect()
    }
}
