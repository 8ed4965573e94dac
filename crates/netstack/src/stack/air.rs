//! The simulated link between the sandbox and the stack: delay, loss, rate and reordering in both directions.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use menace_model::network::{
    DirectionCounts, HostPattern, Link, NetworkSpec, Protocol, Shape, Shaper, Verdict,
};

use super::entry::{Direction, Key, Meta, milliseconds};
use super::tun::{Checksum, HEADER, Tun};
use crate::addresses::is_gateway;
use crate::fate::Fate;
use crate::queue::Queue;

/// Simulated link between the sandbox and the stack.
#[derive(Debug)]
pub(super) struct Air {
    pub(super) tun: Tun,
    shape: Shape,
    /// Whether packets may be shaped, here or by netem in the kernel, now or in a later window.
    is_shaped: bool,
    /// Time of the first packet of the sandbox, from which windows are counted.
    since: Option<Instant>,
    out: Queue<Key>,
    into: Queue<Arriving>,
    /// Buffer for the packet that is being built.
    scratch: Vec<u8>,
}

/// Packet in flight to the sandbox.
#[derive(Debug)]
pub(super) struct Arriving {
    pub(super) key: Key,
    pub(super) checksum: Checksum,
    pub(super) has_payload: bool,
}

/// Arrival of a packet of the sandbox at the stack.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Departed {
    /// Arrives immediately.
    Now,
    /// Arrives immediately, and is duplicated.
    Twice,
    /// Arrives later, or is lost.
    Later,
}

/// Shape without the part that netem has already applied in the kernel when a packet arrives here.
fn userspace_shape(spec: &NetworkSpec) -> Shape {
    let mut shape = spec.shape.clone();
    if spec.shaper == Shaper::Netem {
        shape.out = Link::default();
    }
    shape
}

impl Air {
    pub(super) fn new(tun: Tun, spec: &NetworkSpec, now: Instant) -> Self {
        let scratch = vec![0; HEADER + usize::from(u16::MAX)];
        Self {
            tun,
            shape: userspace_shape(spec),
            is_shaped: !spec.shape.is_clear(),
            since: None,
            out: Queue::new(now),
            into: Queue::new(now),
            scratch,
        }
    }

    /// Replaces the shape. Packets in flight are not affected, and windows restart.
    pub(super) fn change(&mut self, spec: &NetworkSpec) {
        (self.shape, self.since) = (userspace_shape(spec), None);
        self.is_shaped = !spec.shape.is_clear();
    }

    /// Whether packets may be shaped.
    pub(super) fn is_shaped(&self) -> bool {
        self.is_shaped
    }

    /// Puts a packet of the sandbox on the link.
    pub(super) fn depart(&mut self, key: Key, meta: &mut Meta, packet: &[u8], now: Instant) -> Departed {
        self.since.get_or_insert(now);
        let number = next_number(&mut meta.out);
        meta.record.out.packets += 1;
        meta.seen = now;
        let is_cut_off = self.is_cut_off(&key, meta, now);
        let link = self.link(true, now);
        if link.is_clear() && !is_cut_off {
            return Departed::Now;
        }
        if is_cut_off && meta.record.verdict == Verdict::Lost {
            meta.record.verdict = Verdict::Partitioned;
        }
        let fate = if is_cut_off { Fate::Lost } else { meta.out.chance.fate(number, &link) };
        let counts = &mut meta.record.out;
        let Some((at, twice)) = arrival(&mut self.out, &mut meta.out, counts, fate, &link, packet.len(), now)
        else {
            return Departed::Later;
        };
        if at <= now {
            return if twice { Departed::Twice } else { Departed::Now };
        }
        for _ in 0..=usize::from(twice) {
            if !self.out.hold(at, packet.to_vec(), key) {
                counts.lost += 1;
            }
        }
        Departed::Later
    }

    /// Removes the next packet of the sandbox that is due at the stack.
    pub(super) fn departed(&mut self, now: Instant) -> Option<(Vec<u8>, Key)> {
        self.out.due(now)
    }

    /// Whether the direction to the sandbox accepts another packet.
    pub(super) fn has_room(&self, now: Instant) -> bool {
        self.into.has_turn(now, self.link(false, now).rate)
    }

    /// Builds a packet of this length for the sandbox and puts it on the link.
    pub(super) fn arrive<R>(
        &mut self,
        key: Key,
        meta: &mut Meta,
        (length, checksum): (usize, Checksum),
        now: Instant,
        make: impl FnOnce(&mut [u8]) -> R,
    ) -> R {
        let mut scratch = std::mem::take(&mut self.scratch);
        let space = scratch.get_mut(HEADER..HEADER + length);
        let result = make(space.unwrap_or(&mut []));
        self.send(key, meta, scratch.get_mut(..HEADER + length).unwrap_or(&mut []), checksum, now);
        self.scratch = scratch;
        result
    }

    /// Puts a complete packet for the sandbox on the link.
    pub(super) fn arrive_whole(&mut self, key: Key, meta: &mut Meta, packet: &[u8], now: Instant) {
        self.arrive(key, meta, (packet.len(), Checksum::Whole), now, |space| space.copy_from_slice(packet));
    }

    /// Sends the answer to a packet that belongs to no flow, without shaping.
    pub(super) fn answer(&mut self, packet: &[u8]) {
        let mut buffer = vec![0; HEADER];
        buffer.extend_from_slice(packet);
        self.tun.write(&mut buffer, Checksum::Whole);
    }

    fn send(&mut self, key: Key, meta: &mut Meta, buffer: &mut [u8], checksum: Checksum, now: Instant) {
        let number = next_number(&mut meta.into);
        meta.record.into.packets += 1;
        let has_payload = has_payload(&key, buffer.get(HEADER..).unwrap_or(&[]));
        let arriving = Arriving { key, checksum, has_payload };
        let is_cut_off = self.is_cut_off(&key, meta, now);
        let link = self.link(false, now);
        if link.is_clear() && !is_cut_off {
            self.tun.write(buffer, checksum);
            return note_arrival(meta, has_payload);
        }
        let fate = if is_cut_off { Fate::Lost } else { meta.into.chance.fate(number, &link) };
        let length = buffer.len() - HEADER;
        let counts = &mut meta.record.into;
        let Some((at, twice)) = arrival(&mut self.into, &mut meta.into, counts, fate, &link, length, now)
        else {
            return;
        };
        if twice && !self.into.hold(at, buffer.to_vec(), Arriving { key, ..arriving }) {
            counts.lost += 1;
        }
        if at <= now {
            self.tun.write(buffer, checksum);
            note_arrival(meta, has_payload);
        } else if !self.into.hold(at, buffer.to_vec(), arriving) {
            counts.lost += 1;
        }
    }

    /// Writes the next due packet to the sandbox, and returns its flow.
    pub(super) fn deliver(&mut self, now: Instant) -> Option<Arriving> {
        let (mut buffer, arriving) = self.into.due(now)?;
        self.tun.write(&mut buffer, arriving.checksum);
        Some(arriving)
    }

    /// Expected round-trip time of an answer that is not lost: both directions, with their queueing delays.
    pub(super) fn round_trip(&self, now: Instant) -> Duration {
        let longest = |link: &Link| link.delay + link.jitter * 2;
        let waiting = self.out.waits(now) + self.into.waits(now);
        longest(&self.shape.out) + longest(&self.shape.into) + waiting
    }

    /// Due time of the next packet in either direction.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.out.next_at().into_iter().chain(self.into.next_at()).min()
    }

    fn is_in_window(&self, now: Instant) -> bool {
        let since = self.since.map_or(Duration::ZERO, |since| now - since);
        self.shape.window.is_none_or(|window| window.contains(since))
    }

    fn link(&self, is_out: bool, now: Instant) -> Link {
        match (self.is_in_window(now), is_out) {
            (false, _) => Link::default(),
            (true, true) => self.shape.out,
            (true, false) => self.shape.into,
        }
    }

    fn is_cut_off(&self, key: &Key, meta: &Meta, now: Instant) -> bool {
        let names = |pattern: &HostPattern| {
            *pattern == HostPattern::Any
                || pattern.names_address(key.outer.ip())
                || (is_gateway(key.outer.ip()) && pattern.names_address(IpAddr::V4(Ipv4Addr::LOCALHOST)))
                || meta.record.name.as_deref().is_some_and(|name| pattern.matches_name(name))
        };
        // DNS still works during a partition: only the hosts do not answer.
        let is_host = key.protocol != Protocol::Dns;
        is_host
            && !self.shape.partition.is_empty()
            && self.is_in_window(now)
            && self.shape.partition.iter().any(names)
    }
}

/// Records the time of the first byte of an answer.
pub(super) fn note_arrival(meta: &mut Meta, has_payload: bool) {
    if has_payload && meta.record.first_byte_ms.is_none() {
        meta.record.first_byte_ms = Some(milliseconds(meta.began.elapsed()));
    }
}

fn next_number(direction: &mut Direction) -> u64 {
    let number = direction.number;
    direction.number += 1;
    number
}

/// Arrival time of a packet, and whether it is duplicated; `None` if it is lost.
fn arrival<T>(
    queue: &mut Queue<T>,
    direction: &mut Direction,
    counts: &mut DirectionCounts,
    fate: Fate,
    link: &Link,
    length: usize,
    now: Instant,
) -> Option<(Instant, bool)> {
    let Fate::Arrives { delay, twice, overtakes } = fate else {
        counts.lost += 1;
        return None;
    };
    let Some(sent) = queue.turn(now, length, link.rate) else {
        counts.lost += 1;
        return None;
    };
    counts.duplicated += u64::from(twice);
    let mut at = sent + delay;
    if overtakes && (!link.delay.is_zero() || !link.jitter.is_zero()) {
        counts.reordered += 1;
    } else {
        // Jitter does not reorder the packets of a flow; reordering is configured separately.
        at = direction.last.map_or(at, |last| at.max(last));
        direction.last = Some(at);
    }
    counts.delayed += u64::from(at > now + Duration::from_micros(1));
    Some((at, twice))
}

/// Whether a packet carries data for the program, and not only for the kernel.
fn has_payload(key: &Key, packet: &[u8]) -> bool {
    match key.protocol {
        Protocol::Tcp => matches!(
            crate::packet::Packet::read(packet).map(|packet| packet.content),
            Some(crate::packet::Content::Tcp(header)) if header.payload > 0
        ),
        _ => true,
    }
}
