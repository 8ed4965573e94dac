//! Tests of the pool's state without an engine.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use menace_model::sandbox::{SandboxSpec, SandboxUser};

use super::super::container::ResolvedImage;
use super::events::PoolRemovalReason;
use super::key::PoolKey;
use super::state::{NextCreation, SharedPoolState};

fn key(user: u32) -> PoolKey {
    let image = ResolvedImage { name: "i".into(), id: "i".into(), environment: Vec::new() };
    let spec = SandboxSpec { user: SandboxUser { uid: user, gid: 0 }, ..SandboxSpec::default() };
    PoolKey::of(&spec, &image).unwrap()
}

fn labelled() -> PoolKey {
    let image = ResolvedImage { name: "i".into(), id: "i".into(), environment: Vec::new() };
    let labels = BTreeMap::from([("session".to_owned(), "1".to_owned())]);
    PoolKey::of(&SandboxSpec { labels, ..SandboxSpec::default() }, &image).unwrap()
}

/// Creates due containers until none is due.
fn fill(shared: &SharedPoolState<u32>, now: Instant) -> u32 {
    let mut number = 0;
    while let NextCreation::Now(key, _) = { shared.lock().next_creation(now) } {
        number += 1;
        assert_eq!(shared.lock().add_created(&key, number, now), None, "only what has room is due");
    }
    number
}

#[test]
fn a_requested_kind_is_filled_and_containers_are_taken_once() {
    let (shared, now) = (SharedPoolState::<u32>::new(2, 10), Instant::now());
    assert!(matches!(shared.lock().next_creation(now), NextCreation::Nothing));
    shared.lock().record_request(key(1), SandboxSpec::default(), "i", now);
    assert_eq!(fill(&shared, now), 2);
    assert_eq!(shared.lock().take(&key(2), now), None);
    assert_eq!(shared.lock().take(&key(1), now), Some(1), "the one that has waited longest");
    assert_eq!(shared.lock().take(&key(1), now), Some(2));
    assert_eq!(shared.lock().take(&key(1), now), None);
}

#[test]
fn warm_containers_are_evicted_and_the_limit_holds() {
    let (shared, now) = (SharedPoolState::<u32>::new(2, 3), Instant::now());
    shared.lock().record_request(key(1), SandboxSpec::default(), "i", now);
    assert_eq!(fill(&shared, now), 2);
    let seat = || shared.reserve(None, now).map(|seated| (seated.seat, seated.gave_way));
    let (first, gave_way) = seat().unwrap();
    assert_eq!(gave_way, None, "the limit is three");
    let (second, gave_way) = seat().unwrap();
    assert_eq!(gave_way, Some(1));
    let (third, gave_way) = seat().unwrap();
    assert_eq!(gave_way, Some(2));
    assert_eq!(seat().err(), Some(3), "the limit is reached");
    assert_eq!(fill(&shared, now), 0);
    drop(second);
    assert_eq!(fill(&shared, now), 1, "one container fits again");
    let adopted = shared.reserve_for_adopted();
    drop((first, third, adopted));
}

#[test]
fn a_taken_container_is_not_evicted_for_itself() {
    let (shared, now) = (SharedPoolState::<u32>::new(1, 1), Instant::now());
    shared.lock().record_request(key(1), SandboxSpec::default(), "i", now);
    assert_eq!(fill(&shared, now), 1);
    let seated = shared.reserve(Some(&key(1)), now).unwrap();
    assert_eq!((seated.taken, seated.gave_way), (Some(1), None));
}

#[test]
fn a_container_created_too_late_is_evicted() {
    let (shared, now) = (SharedPoolState::<u32>::new(1, 1), Instant::now());
    shared.lock().record_request(key(1), SandboxSpec::default(), "i", now);
    let NextCreation::Now(due, _) = ({ shared.lock().next_creation(now) }) else { panic!("one is due") };
    let _seated = shared.reserve(None, now).unwrap();
    assert_eq!(shared.lock().add_created(&due, 1, now), Some(1));
}

#[test]
fn the_delay_grows_with_failures_and_a_success_resets_it() {
    let (shared, now) = (SharedPoolState::<u32>::new(1, 10), Instant::now());
    shared.lock().record_request(key(1), SandboxSpec::default(), "i", now);
    let mut then = now;
    for expected in [500, 1000, 2000] {
        let NextCreation::Now(due, _) = ({ shared.lock().next_creation(then) }) else {
            panic!("a retry is due")
        };
        let wait = shared.lock().record_failure(&due, then);
        assert_eq!(wait, Duration::from_millis(expected));
        let NextCreation::At(at) = ({ shared.lock().next_creation(then) }) else { panic!("not due yet") };
        assert_eq!(at, then + wait);
        then = at;
    }
    assert_eq!(fill(&shared, then), 1);
    assert_eq!(shared.lock().backoff(), Duration::from_millis(500));
}

#[test]
fn containers_that_wait_too_long_expire() {
    let (shared, now) = (SharedPoolState::<u32>::new(1, 10), Instant::now());
    let (idle, lifetime) = (Duration::from_secs(10), Duration::from_secs(30));
    shared.lock().record_request(key(1), SandboxSpec::default(), "i", now);
    shared.lock().record_request(key(2), SandboxSpec::default(), "i", now);
    fill(&shared, now);
    let later = now + Duration::from_secs(11);
    shared.lock().record_request(key(1), SandboxSpec::default(), "i", now + Duration::from_secs(6));
    let gone = shared.lock().expired(later, idle, lifetime);
    assert_eq!(gone.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [PoolRemovalReason::Idle]);
    assert_eq!(fill(&shared, later), 0, "the idle kind is not filled");
    let much_later = now + Duration::from_secs(31);
    shared.lock().record_request(key(1), SandboxSpec::default(), "i", much_later);
    let gone = shared.lock().expired(much_later, idle, lifetime);
    assert_eq!(gone.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [PoolRemovalReason::Lifetime]);
    assert_eq!(fill(&shared, much_later), 1, "it is replaced");
}

#[test]
fn unrequested_kinds_make_room_for_others() {
    let (shared, mut now) = (SharedPoolState::<u32>::new(2, 8), Instant::now());
    for user in 1..=2 {
        now += Duration::from_secs(1);
        assert_eq!(
            shared.lock().record_request(key(user), SandboxSpec::default(), "i", now),
            Vec::<u32>::new()
        );
        fill(&shared, now);
    }
    now += Duration::from_secs(1);
    assert_eq!(shared.lock().record_request(key(3), SandboxSpec::default(), "i", now), [1, 2]);
    assert_eq!(shared.lock().take(&key(1), now), None);
}

#[test]
fn labelled_kinds_are_filled_after_the_second_request() {
    let (shared, now) = (SharedPoolState::<u32>::new(1, 10), Instant::now());
    shared.lock().record_request(labelled(), SandboxSpec::default(), "i", now);
    assert_eq!(fill(&shared, now), 0);
    shared.lock().record_request(labelled(), SandboxSpec::default(), "i", now);
    assert_eq!(fill(&shared, now), 1);
}

#[test]
fn size_zero_keeps_no_warm_containers() {
    let (shared, now) = (SharedPoolState::<u32>::new(0, 10), Instant::now());
    shared.lock().record_request(key(1), SandboxSpec::default(), "i", now);
    assert_eq!(fill(&shared, now), 0);
}
