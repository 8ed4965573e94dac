//! Which containers wait and how many there are: all that is decided without asking the engine.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use menace_model::sandbox::SandboxSpec;
use tokio::sync::Notify;

use super::backoff;
use super::events::Removal;
use super::key::Key;

/// Kinds that were asked for once and may not be asked for again.
const MOST_RARE: usize = 64;

/// What waits, and who is to be woken when that changes.
pub(super) struct Shared<T> {
    state: Mutex<State<T>>,
    pub(super) wake: Notify,
}

impl<T> Shared<T> {
    pub(super) fn new(size: usize, most: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State::new(size, most)), wake: Notify::new() })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<T>> {
        // It is whole after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a sandbox, if there is one, with one of its kind that waits, if one does.
    pub(super) fn seat(self: &Arc<Self>, key: Option<&Key>, now: Instant) -> Result<Seated<T>, usize>
    where
        T: Send + 'static,
    {
        let mut state = self.lock();
        if state.used >= state.most {
            return Err(state.used);
        }
        state.used += 1;
        // It does not give way to itself.
        let taken = key.and_then(|key| state.take(key, now));
        let gave_way = state.over();
        drop(state);
        Ok(Seated { seat: self.taken(), taken, gave_way })
    }

    /// A place for a sandbox that is there already.
    pub(super) fn seat_for_adopted(self: &Arc<Self>) -> Seat
    where
        T: Send + 'static,
    {
        self.lock().used += 1;
        self.taken()
    }

    fn taken(self: &Arc<Self>) -> Seat
    where
        T: Send + 'static,
    {
        let shared = Arc::clone(self);
        Seat(Some(Box::new(move || {
            let mut state = shared.lock();
            state.used = state.used.saturating_sub(1);
            drop(state);
            shared.wake.notify_one();
        })))
    }
}

/// A place that was had.
pub(super) struct Seated<T> {
    pub(super) seat: Seat,
    /// One that waited for this.
    pub(super) taken: Option<T>,
    /// One that has to go for it.
    pub(super) gave_way: Option<T>,
}

/// A place for a container that is used. It is free again when this is dropped.
pub(in super::super) struct Seat(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(leave) = self.0.take() {
            leave();
        }
    }
}

/// What waits.
pub(super) struct State<T> {
    size: usize,
    most: usize,
    used: usize,
    making: usize,
    kinds: BTreeMap<Key, Kind<T>>,
    rare: VecDeque<Key>,
}

struct Kind<T> {
    template: SandboxSpec,
    image: String,
    asked: Instant,
    failures: u64,
    not_before: Instant,
    waiting: VecDeque<(T, Instant)>,
}

/// What is to be made next.
#[derive(Debug)]
pub(super) enum Due {
    /// One of this kind, now. It counts as being made.
    Now(Key, Box<SandboxSpec>),
    /// Something failed and is tried again then.
    At(Instant),
    /// Nothing.
    Nothing,
}

impl<T> State<T> {
    fn new(size: usize, most: usize) -> Self {
        Self { size, most, used: 0, making: 0, kinds: BTreeMap::new(), rare: VecDeque::new() }
    }

    fn waiting(&self) -> usize {
        self.kinds.values().map(|kind| kind.waiting.len()).sum()
    }

    /// One that waits and is too many, of the kind that nobody has asked for longest.
    fn over(&mut self) -> Option<T> {
        if self.used + self.waiting() <= self.most {
            return None;
        }
        let waiting = self.kinds.values_mut().filter(|kind| !kind.waiting.is_empty());
        waiting.min_by_key(|kind| kind.asked)?.waiting.pop_front().map(|(one, _)| one)
    }

    /// One that waits, for somebody who asks for this kind. The one that has waited longest.
    pub(super) fn take(&mut self, key: &Key, now: Instant) -> Option<T> {
        let kind = self.kinds.get_mut(key)?;
        kind.asked = now;
        kind.waiting.pop_front().map(|(one, _)| one)
    }

    /// Somebody has asked for a kind, so the next one shall be there at once. What has to go for that.
    pub(super) fn learn(&mut self, key: Key, template: SandboxSpec, image: &str, now: Instant) -> Vec<T> {
        if self.size == 0 || !self.is_worth_it(&key) {
            return Vec::new();
        }
        let new = || Kind {
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
        // Half of all containers may wait; the other half is for those who ask for something else.
        let most_kinds = (self.most / 2 / self.size).max(1);
        let mut gone = Vec::new();
        while self.kinds.len() > most_kinds {
            let oldest = self.kinds.iter().min_by_key(|(_, kind)| kind.asked).map(|(key, _)| key.clone());
            let Some(kind) = oldest.and_then(|key| self.kinds.remove(&key)) else { break };
            gone.extend(kind.waiting.into_iter().map(|(one, _)| one));
        }
        gone
    }

    /// What is rarely asked for twice has to be asked for twice.
    fn is_worth_it(&mut self, key: &Key) -> bool {
        if key.is_common() || self.kinds.contains_key(key) || self.rare.contains(key) {
            return true;
        }
        self.rare.push_back(key.clone());
        if self.rare.len() > MOST_RARE {
            self.rare.pop_front();
        }
        false
    }

    /// What is to be made next: of the kind that was asked for last.
    pub(super) fn due(&mut self, now: Instant) -> Due {
        if self.used + self.making + self.waiting() >= self.most {
            return Due::Nothing;
        }
        let wanting = self.kinds.iter().filter(|(_, kind)| kind.waiting.len() < self.size);
        let (ready, later): (Vec<_>, Vec<_>) = wanting.partition(|(_, kind)| kind.not_before <= now);
        if let Some((key, kind)) = ready.into_iter().max_by_key(|(_, kind)| kind.asked) {
            self.making += 1;
            return Due::Now(key.clone(), Box::new(kind.template.clone()));
        }
        later.into_iter().map(|(_, kind)| kind.not_before).min().map_or(Due::Nothing, Due::At)
    }

    /// One was made. It comes back if there is no room for it any more.
    pub(super) fn made(&mut self, key: &Key, one: T, now: Instant) -> Option<T> {
        self.making = self.making.saturating_sub(1);
        let Some(kind) = self.kinds.get_mut(key) else { return Some(one) };
        kind.failures = 0;
        kind.waiting.push_back((one, now));
        self.over()
    }

    /// One could not be made; how long it is waited now.
    pub(super) fn failed(&mut self, key: &Key, now: Instant) -> Duration {
        self.making = self.making.saturating_sub(1);
        let Some(kind) = self.kinds.get_mut(key) else { return backoff::BASE };
        kind.failures += 1;
        let wait = backoff::after(kind.failures);
        kind.not_before = now + wait;
        wait
    }

    /// How long the next failure would be waited for.
    pub(super) fn backoff(&self) -> Duration {
        backoff::after(self.kinds.values().map(|kind| kind.failures).max().unwrap_or(0))
    }

    /// Forgets a kind, with all that wait.
    pub(super) fn forget(&mut self, key: &Key) -> Vec<T> {
        self.making = self.making.saturating_sub(1);
        self.kinds.remove(key).into_iter().flat_map(|kind| kind.waiting).map(|(one, _)| one).collect()
    }

    /// Takes out what has waited too long. A kind that nobody has asked for so long is made again when somebody does.
    pub(super) fn expired(&mut self, now: Instant, idle: Duration, lifetime: Duration) -> Vec<(T, Removal)> {
        let mut gone = Vec::new();
        let idle_kinds: Vec<Key> = self
            .kinds
            .iter()
            .filter(|(_, kind)| now.duration_since(kind.asked) >= idle)
            .map(|(key, _)| key.clone())
            .collect();
        for key in idle_kinds {
            let kind = self.kinds.remove(&key);
            gone.extend(kind.into_iter().flat_map(|kind| kind.waiting).map(|(one, _)| (one, Removal::Idle)));
        }
        for kind in self.kinds.values_mut() {
            let is_old = |since: &Instant| now.duration_since(*since) >= lifetime;
            while kind.waiting.front().is_some_and(|(_, since)| is_old(since)) {
                gone.extend(kind.waiting.pop_front().map(|(one, _)| (one, Removal::Lifetime)));
            }
        }
        gone
    }

    /// All that wait.
    pub(super) fn all(&self) -> impl Iterator<Item = &T> {
        self.kinds.values().flat_map(|kind| &kind.waiting).map(|(one, _)| one)
    }

    /// Takes out one that waits, if it still does.
    pub(super) fn take_if(&mut self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        for kind in self.kinds.values_mut() {
            if let Some(place) = kind.waiting.iter().position(|(one, _)| is_it(one)) {
                return kind.waiting.remove(place).map(|(one, _)| one);
            }
        }
        None
    }

    /// How many wait, by the name of their image.
    pub(super) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for kind in self.kinds.values() {
            *counts.entry(kind.image.clone()).or_default() += kind.waiting.len();
        }
        counts
    }

    /// Forgets all kinds.
    pub(super) fn clear(&mut self) -> Vec<T> {
        let kinds = std::mem::take(&mut self.kinds);
        kinds.into_values().flat_map(|kind| kind.waiting).map(|(one, _)| one).collect()
    }
}
