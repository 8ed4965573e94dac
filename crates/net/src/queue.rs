//! Packets under way in one direction.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// Bytes that can be under way. What comes then is lost, as on any link.
const MOST_BYTES: usize = 16 << 20;
/// How long a packet may wait for its turn on a link with a rate.
const LONGEST_WAIT: Duration = Duration::from_millis(200);
/// What a slow link holds all the same.
const LEAST_WAITING: u64 = 64 << 10;

/// Packets under way, each until its time.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    held: BinaryHeap<Held<T>>,
    bytes: usize,
    /// Packets so far, so that those of the same moment stay in their order.
    count: u64,
    /// When the link has sent all that it was given.
    free_at: Instant,
}

#[derive(Debug)]
struct Held<T> {
    at: Instant,
    number: u64,
    packet: Vec<u8>,
    owner: T,
}

impl<T> Queue<T> {
    pub(crate) fn new(now: Instant) -> Self {
        Self { held: BinaryHeap::new(), bytes: 0, count: 0, free_at: now }
    }

    /// When a packet of this length has left, if it goes behind all others; `None` when too many wait.
    pub(crate) fn turn(&mut self, now: Instant, length: usize, rate: Option<u64>) -> Option<Instant> {
        let Some(rate) = rate else { return Some(now) };
        if !self.has_turn(now, Some(rate)) {
            return None;
        }
        let begins = self.free_at.max(now);
        self.free_at = begins + time_for(length as u64, rate);
        Some(self.free_at)
    }

    /// Whether another packet would be sent soon enough.
    pub(crate) fn has_turn(&self, now: Instant, rate: Option<u64>) -> bool {
        let Some(rate) = rate else { return self.bytes < MOST_BYTES };
        let longest = LONGEST_WAIT.max(time_for(LEAST_WAITING, rate));
        self.bytes < MOST_BYTES && self.free_at.saturating_duration_since(now) < longest
    }

    /// How long a packet would wait for its turn now.
    pub(crate) fn waits(&self, now: Instant) -> Duration {
        self.free_at.saturating_duration_since(now)
    }

    /// Holds a packet until its time; false when there is no room for it.
    pub(crate) fn hold(&mut self, at: Instant, packet: Vec<u8>, owner: T) -> bool {
        if self.bytes + packet.len() > MOST_BYTES {
            return false;
        }
        self.bytes += packet.len();
        self.count += 1;
        self.held.push(Held { at, number: self.count, packet, owner });
        true
    }

    /// The next packet whose time has come.
    pub(crate) fn due(&mut self, now: Instant) -> Option<(Vec<u8>, T)> {
        if self.held.peek()?.at > now {
            return None;
        }
        let Held { packet, owner, .. } = self.held.pop()?;
        self.bytes -= packet.len();
        Some((packet, owner))
    }

    /// When the next packet is due.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.held.peek().map(|held| held.at)
    }
}

fn time_for(bytes: u64, rate: u64) -> Duration {
    Duration::from_secs_f64(bytes as f64 * 8.0 / rate.max(1) as f64)
}

impl<T> Ord for Held<T> {
    /// The one that is due first is the greatest, as the heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Held<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_out_when_they_are_due_and_in_their_order() {
        let now = Instant::now();
        let at = |milliseconds| now + Duration::from_millis(milliseconds);
        let mut queue = Queue::new(now);
        for (number, milliseconds) in [(1, 20), (2, 10), (3, 20)] {
            assert!(queue.hold(at(milliseconds), vec![number], ()));
        }
        assert_eq!(queue.next_at(), Some(at(10)));
        assert_eq!(queue.due(at(9)), None);
        assert_eq!(queue.due(at(10)), Some((vec![2], ())));
        assert_eq!(queue.due(at(10)), None);
        assert_eq!(queue.due(at(30)), Some((vec![1], ())));
        assert_eq!(queue.due(at(30)), Some((vec![3], ())));
        assert_eq!(queue.bytes, 0);
    }

    #[test]
    fn a_rate_spaces_packets_and_a_queue_that_is_too_long_takes_no_more() {
        let now = Instant::now();
        let mut queue = Queue::<()>::new(now);
        // A megabit in a second is 1250 bytes in 10 ms.
        let turns: Vec<_> = (0..2).map(|_| queue.turn(now, 1250, Some(1_000_000)).unwrap() - now).collect();
        assert_eq!(turns, [Duration::from_millis(10), Duration::from_millis(20)]);
        let more = (0..1000).take_while(|_| queue.turn(now, 1250, Some(1_000_000)).is_some()).count();
        assert!((50..=53).contains(&more), "{more}");
        assert!(!queue.has_turn(now, Some(1_000_000)) && queue.has_turn(now, None));
    }

    #[test]
    fn what_is_held_is_bounded() {
        let now = Instant::now();
        let mut queue = Queue::new(now);
        let held = (0..1000).take_while(|_| queue.hold(now, vec![0; 64 << 10], ())).count();
        assert_eq!(held, 256);
    }
}
