//! Between the sandbox and the stack: what is done to packets on their way, in both directions.

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

/// The way between the sandbox and the stack.
#[derive(Debug)]
pub(super) struct Air {
    pub(super) tun: Tun,
    shape: Shape,
    /// Whether something may happen to packets, here or in the kernel, now or later.
    is_shaped: bool,
    /// Windows begin with the first packet of the sandbox.
    since: Option<Instant>,
    out: Queue<Key>,
    into: Queue<Arriving>,
    /// Room for the packet that is being made.
    scratch: Vec<u8>,
}

/// A packet on its way to the sandbox.
#[derive(Debug)]
pub(super) struct Arriving {
    pub(super) key: Key,
    pub(super) checksum: Checksum,
    pub(super) has_payload: bool,
}

/// What became of a packet of the sandbox.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Departed {
    /// It arrives now.
    Now,
    /// It arrives now, and once more.
    Twice,
    /// It arrives later, or never.
    Later,
}

/// What the kernel does has been done when a packet comes here.
fn done_here(spec: &NetworkSpec) -> Shape {
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
            shape: done_here(spec),
            is_shaped: !spec.shape.is_clear(),
            since: None,
            out: Queue::new(now),
            into: Queue::new(now),
            scratch,
        }
    }

    /// Shapes packets differently from now on; those under way stay, and windows begin anew.
    pub(super) fn change(&mut self, spec: &NetworkSpec) {
        (self.shape, self.since) = (done_here(spec), None);
        self.is_shaped = !spec.shape.is_clear();
    }

    /// Whether something may happen to packets.
    pub(super) fn is_shaped(&self) -> bool {
        self.is_shaped
    }

    /// Sends a packet of the sandbox on its way.
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

    /// The next packet of the sandbox that has arrived.
    pub(super) fn departed(&mut self, now: Instant) -> Option<(Vec<u8>, Key)> {
        self.out.due(now)
    }

    /// Whether the way to the sandbox takes another packet.
    pub(super) fn has_room(&self, now: Instant) -> bool {
        self.into.has_turn(now, self.link(false, now).rate)
    }

    /// Makes a packet for the sandbox, of this length, and sends it on its way.
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

    /// Sends a packet of ours that is whole.
    pub(super) fn arrive_whole(&mut self, key: Key, meta: &mut Meta, packet: &[u8], now: Instant) {
        self.arrive(key, meta, (packet.len(), Checksum::Whole), now, |space| space.copy_from_slice(packet));
    }

    /// Answers a packet that belongs to no flow.
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

    /// Hands the next packet whose time has come to the sandbox, and says whose it was.
    pub(super) fn deliver(&mut self, now: Instant) -> Option<Arriving> {
        let (mut buffer, arriving) = self.into.due(now)?;
        self.tun.write(&mut buffer, arriving.checksum);
        Some(arriving)
    }

    /// How long an answer takes that comes at all: both ways, and what waits there for its turn.
    pub(super) fn round_trip(&self, now: Instant) -> Duration {
        let longest = |link: &Link| link.delay + link.jitter * 2;
        let waiting = self.out.waits(now) + self.into.waits(now);
        longest(&self.shape.out) + longest(&self.shape.into) + waiting
    }

    /// When a packet arrives next.
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
        // Names are looked up all the same: it is hosts that do not answer.
        let is_host = key.protocol != Protocol::Dns;
        is_host
            && !self.shape.partition.is_empty()
            && self.is_in_window(now)
            && self.shape.partition.iter().any(names)
    }
}

/// Notes when the first byte came back.
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

/// When a packet arrives, and whether it does so twice; `None` if it is lost.
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
        // Delays that differ do not change the order of a flow; that is asked for separately.
        at = direction.last.map_or(at, |last| at.max(last));
        direction.last = Some(at);
    }
    counts.delayed += u64::from(at > now + Duration::from_micros(1));
    Some((at, twice))
}

/// Whether a packet brings something for the program, and not only for the kernel.
fn has_payload(key: &Key, packet: &[u8]) -> bool {
    match key.protocol {
        Protocol::Tcp => matches!(
            crate::packet::Packet::read(packet).map(|packet| packet.content),
            Some(crate::packet::Content::Tcp(header)) if header.payload > 0
        ),
        _ => true,
    }
}
