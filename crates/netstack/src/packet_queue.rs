//! Packets in flight in one direction.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

/// Bytes that can be in flight. Further packets are dropped, as on a real link.
const MAX_BYTES: usize = 16 << 20;
/// Longest queueing delay on a link with a rate.
const MAX_QUEUE_DELAY: Duration = Duration::from_millis(200);
/// Bytes that may queue on a slow link even if that takes longer.
const MIN_QUEUE_BYTES: u64 = 64 << 10;

/// Packets in flight, each held until it is due.
#[derive(Debug)]
pub(crate) struct PacketQueue<T> {
    held: BinaryHeap<QueuedPacket<T>>,
    bytes: usize,
    /// Number of packets so far, which keeps packets with the same due time in order.
    count: u64,
    /// Time at which the link will have sent all queued packets.
    free_at: Instant,
}

#[derive(Debug)]
struct QueuedPacket<T> {
    at: Instant,
    number: u64,
    packet: Vec<u8>,
    owner: T,
}

impl<T> PacketQueue<T> {
    pub(crate) fn new(now: Instant) -> Self {
        Self { held: BinaryHeap::new(), bytes: 0, count: 0, free_at: now }
    }

    /// Queues a packet of this length behind all others and returns the time at which it is sent; `None` when the queue is
    /// full.
    pub(crate) fn schedule(&mut self, now: Instant, length: usize, rate: Option<u64>) -> Option<Instant> {
        let Some(rate) = rate else { return Some(now) };
        if !self.has_room(now, Some(rate)) {
            return None;
        }
        let begins = self.free_at.max(now);
        self.free_at = begins + transmission_time(length as u64, rate);
        Some(self.free_at)
    }

    /// Whether another packet would be sent within the longest queueing delay.
    pub(crate) fn has_room(&self, now: Instant, rate: Option<u64>) -> bool {
        let Some(rate) = rate else { return self.bytes < MAX_BYTES };
        let longest = MAX_QUEUE_DELAY.max(transmission_time(MIN_QUEUE_BYTES, rate));
        self.bytes < MAX_BYTES && self.free_at.saturating_duration_since(now) < longest
    }

    /// Queueing delay of a packet that arrives now.
    pub(crate) fn waits(&self, now: Instant) -> Duration {
        self.free_at.saturating_duration_since(now)
    }

    /// Holds a packet until it is due; false when there is no room for it.
    pub(crate) fn hold(&mut self, at: Instant, packet: Vec<u8>, owner: T) -> bool {
        if self.bytes + packet.len() > MAX_BYTES {
            return false;
        }
        self.bytes += packet.len();
        self.count += 1;
        self.held.push(QueuedPacket { at, number: self.count, packet, owner });
        true
    }

    /// Removes the next packet that is due.
    pub(crate) fn due(&mut self, now: Instant) -> Option<(Vec<u8>, T)> {
        if self.held.peek()?.at > now {
            return None;
        }
        let QueuedPacket { packet, owner, .. } = self.held.pop()?;
        self.bytes -= packet.len();
        Some((packet, owner))
    }

    /// Due time of the next packet.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.held.peek().map(|held| held.at)
    }
}

fn transmission_time(bytes: u64, rate: u64) -> Duration {
    Duration::from_secs_f64(bytes as f64 * 8.0 / rate.max(1) as f64)
}

impl<T> Ord for QueuedPacket<T> {
    /// Orders the packet that is due first as the greatest, because the heap returns the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for QueuedPacket<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for QueuedPacket<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for QueuedPacket<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_returned_when_due_and_in_order() {
        let now = Instant::now();
        let at = |milliseconds| now + Duration::from_millis(milliseconds);
        let mut queue = PacketQueue::new(now);
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
    fn a_rate_spaces_packets_and_a_full_queue_rejects_them() {
        let now = Instant::now();
        let mut queue = PacketQueue::<()>::new(now);
        // 1 Mbit/s is 1250 bytes in 10 ms.
        let turns: Vec<_> =
            (0..2).map(|_| queue.schedule(now, 1250, Some(1_000_000)).unwrap() - now).collect();
        assert_eq!(turns, [Duration::from_millis(10), Duration::from_millis(20)]);
        let more = (0..1000).take_while(|_| queue.schedule(now, 1250, Some(1_000_000)).is_some()).count();
        assert!((50..=53).contains(&more), "{more}");
        assert!(!queue.has_room(now, Some(1_000_000)) && queue.has_room(now, None));
    }

    #[test]
    fn held_bytes_are_bounded() {
        let now = Instant::now();
        let mut queue = PacketQueue::new(now);
        let held = (0..1000).take_while(|_| queue.hold(now, vec![0; 64 << 10], ())).count();
        assert_eq!(held, 256);
    }
}
