//! The simulated link between the sandbox and the stack: delay, loss, rate and reordering in both directions.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use menace_model::network::{
    DirectionCounts, FlowDisposition, FlowProtocol, HostPattern, LinkConditions, NetworkConditions,
    NetworkSpec, PacketShaper,
};

use super::flow_entry::{DirectionProgress, FlowKey, FlowProgress, milliseconds};
use super::tun::{ChecksumState, HEADER, TunDevice};
use crate::addresses::is_gateway;
use crate::packet_fate::PacketFate;
use crate::packet_queue::PacketQueue;

/// Simulated link between the sandbox and the stack.
#[derive(Debug)]
pub(super) struct SimulatedLink {
    pub(super) tun: TunDevice,
    shape: NetworkConditions,
    /// Whether packets may be shaped, here or by netem in the kernel, now or in a later window.
    is_shaped: bool,
    /// Time of the first packet of the sandbox, from which windows are counted.
    since: Option<Instant>,
    out: PacketQueue<FlowKey>,
    into: PacketQueue<InboundPacket>,
    /// Buffer for the packet that is being built.
    scratch: Vec<u8>,
}

/// Packet in flight to the sandbox.
#[derive(Debug)]
pub(super) struct InboundPacket {
    pub(super) key: FlowKey,
    pub(super) checksum: ChecksumState,
    pub(super) has_payload: bool,
}

/// Arrival of a packet of the sandbox at the stack.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OutboundArrival {
    /// Arrives immediately.
    Now,
    /// Arrives immediately, and is duplicated.
    Twice,
    /// Arrives later, or is lost.
    Later,
}

/// Shape without the part that netem has already applied in the kernel when a packet arrives here.
fn userspace_shape(spec: &NetworkSpec) -> NetworkConditions {
    let mut shape = spec.shape.clone();
    if spec.shaper == PacketShaper::Netem {
        shape.out = LinkConditions::default();
    }
    shape
}

impl SimulatedLink {
    pub(super) fn new(tun: TunDevice, spec: &NetworkSpec, now: Instant) -> Self {
        let scratch = vec![0; HEADER + usize::from(u16::MAX)];
        Self {
            tun,
            shape: userspace_shape(spec),
            is_shaped: !spec.shape.is_clear(),
            since: None,
            out: PacketQueue::new(now),
            into: PacketQueue::new(now),
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
    pub(super) fn send_from_sandbox(
        &mut self,
        key: FlowKey,
        meta: &mut FlowProgress,
        packet: &[u8],
        now: Instant,
    ) -> OutboundArrival {
        self.since.get_or_insert(now);
        let number = next_number(&mut meta.out);
        meta.record.out.packets += 1;
        meta.seen = now;
        let is_cut_off = self.is_cut_off(&key, meta, now);
        let link = self.link(true, now);
        if link.is_clear() && !is_cut_off {
            return OutboundArrival::Now;
        }
        if is_cut_off && meta.record.verdict == FlowDisposition::Lost {
            meta.record.verdict = FlowDisposition::Partitioned;
        }
        let fate = if is_cut_off { PacketFate::Lost } else { meta.out.chance.fate(number, &link) };
        let counts = &mut meta.record.out;
        let Some((at, twice)) = arrival(&mut self.out, &mut meta.out, counts, fate, &link, packet.len(), now)
        else {
            return OutboundArrival::Later;
        };
        if at <= now {
            return if twice { OutboundArrival::Twice } else { OutboundArrival::Now };
        }
        for _ in 0..=usize::from(twice) {
            if !self.out.hold(at, packet.to_vec(), key) {
                counts.lost += 1;
            }
        }
        OutboundArrival::Later
    }

    /// Removes the next packet of the sandbox that is due at the stack.
    pub(super) fn next_from_sandbox(&mut self, now: Instant) -> Option<(Vec<u8>, FlowKey)> {
        self.out.due(now)
    }

    /// Whether the direction to the sandbox accepts another packet.
    pub(super) fn has_room(&self, now: Instant) -> bool {
        self.into.has_room(now, self.link(false, now).rate)
    }

    /// Builds a packet of this length for the sandbox and puts it on the link.
    pub(super) fn send_to_sandbox<R>(
        &mut self,
        key: FlowKey,
        meta: &mut FlowProgress,
        (length, checksum): (usize, ChecksumState),
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
    pub(super) fn send_packet_to_sandbox(
        &mut self,
        key: FlowKey,
        meta: &mut FlowProgress,
        packet: &[u8],
        now: Instant,
    ) {
        self.send_to_sandbox(key, meta, (packet.len(), ChecksumState::Whole), now, |space| {
            space.copy_from_slice(packet);
        });
    }

    /// Sends the answer to a packet that belongs to no flow, without shaping.
    pub(super) fn send_unshaped(&mut self, packet: &[u8]) {
        let mut buffer = vec![0; HEADER];
        buffer.extend_from_slice(packet);
        self.tun.write(&mut buffer, ChecksumState::Whole);
    }

    fn send(
        &mut self,
        key: FlowKey,
        meta: &mut FlowProgress,
        buffer: &mut [u8],
        checksum: ChecksumState,
        now: Instant,
    ) {
        let number = next_number(&mut meta.into);
        meta.record.into.packets += 1;
        let has_payload = has_payload(&key, buffer.get(HEADER..).unwrap_or(&[]));
        let arriving = InboundPacket { key, checksum, has_payload };
        let is_cut_off = self.is_cut_off(&key, meta, now);
        let link = self.link(false, now);
        if link.is_clear() && !is_cut_off {
            self.tun.write(buffer, checksum);
            return record_first_byte(meta, has_payload);
        }
        let fate = if is_cut_off { PacketFate::Lost } else { meta.into.chance.fate(number, &link) };
        let length = buffer.len() - HEADER;
        let counts = &mut meta.record.into;
        let Some((at, twice)) = arrival(&mut self.into, &mut meta.into, counts, fate, &link, length, now)
        else {
            return;
        };
        if twice && !self.into.hold(at, buffer.to_vec(), InboundPacket { key, ..arriving }) {
            counts.lost += 1;
        }
        if at <= now {
            self.tun.write(buffer, checksum);
            record_first_byte(meta, has_payload);
        } else if !self.into.hold(at, buffer.to_vec(), arriving) {
            counts.lost += 1;
        }
    }

    /// Writes the next due packet to the sandbox, and returns its flow.
    pub(super) fn deliver(&mut self, now: Instant) -> Option<InboundPacket> {
        let (mut buffer, arriving) = self.into.due(now)?;
        self.tun.write(&mut buffer, arriving.checksum);
        Some(arriving)
    }

    /// Expected round-trip time of an answer that is not lost: both directions, with their queueing delays.
    pub(super) fn round_trip(&self, now: Instant) -> Duration {
        let longest = |link: &LinkConditions| link.delay + link.jitter * 2;
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

    fn link(&self, is_out: bool, now: Instant) -> LinkConditions {
        match (self.is_in_window(now), is_out) {
            (false, _) => LinkConditions::default(),
            (true, true) => self.shape.out,
            (true, false) => self.shape.into,
        }
    }

    fn is_cut_off(&self, key: &FlowKey, meta: &FlowProgress, now: Instant) -> bool {
        let names = |pattern: &HostPattern| {
            *pattern == HostPattern::Any
                || pattern.names_address(key.outer.ip())
                || (is_gateway(key.outer.ip()) && pattern.names_address(IpAddr::V4(Ipv4Addr::LOCALHOST)))
                || meta.record.name.as_deref().is_some_and(|name| pattern.matches_name(name))
        };
        // DNS still works during a partition: only the hosts do not answer.
        let is_host = key.protocol != FlowProtocol::Dns;
        is_host
            && !self.shape.partition.is_empty()
            && self.is_in_window(now)
            && self.shape.partition.iter().any(names)
    }
}

/// Records the time of the first byte of an answer.
pub(super) fn record_first_byte(meta: &mut FlowProgress, has_payload: bool) {
    if has_payload && meta.record.first_byte_ms.is_none() {
        meta.record.first_byte_ms = Some(milliseconds(meta.began.elapsed()));
    }
}

fn next_number(direction: &mut DirectionProgress) -> u64 {
    let number = direction.number;
    direction.number += 1;
    number
}

/// Arrival time of a packet, and whether it is duplicated; `None` if it is lost.
fn arrival<T>(
    queue: &mut PacketQueue<T>,
    direction: &mut DirectionProgress,
    counts: &mut DirectionCounts,
    fate: PacketFate,
    link: &LinkConditions,
    length: usize,
    now: Instant,
) -> Option<(Instant, bool)> {
    let PacketFate::Arrives { delay, twice, overtakes } = fate else {
        counts.lost += 1;
        return None;
    };
    let Some(sent) = queue.schedule(now, length, link.rate) else {
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
fn has_payload(key: &FlowKey, packet: &[u8]) -> bool {
    match key.protocol {
        FlowProtocol::Tcp => matches!(
            crate::packet::IpPacket::read(packet).map(|packet| packet.content),
            Some(crate::packet::PacketContent::Tcp(header)) if header.payload > 0
        ),
        _ => true,
    }
}
