//! Life cycle of flows: creation, delivery of their packets, end.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use menace_model::network::{FlowDisposition, FlowProtocol, FlowRecord, HOST_NAME};

use super::flow_entry::{
    DirectionProgress, FlowEntry, FlowKey, FlowProgress, FlowState, PendingConnection, milliseconds,
};
use super::link::OutboundArrival;
use super::tcp::{TcpConnection, UpstreamSocket};
use super::worker::NetstackWorker;
use crate::addresses::is_gateway;
use crate::packet::{IpPacket, PacketContent, TcpHeader};
use crate::packet_fate::FlowSeed;
use crate::reply;

/// Concurrent flows. Further ones are refused.
const MAX_FLOWS: usize = 4096;
/// Recorded ended flows. Further ones are only counted.
const MAX_RECORDS: usize = 10_000;
/// Total size of the buffers of all connections.
const MAX_BUFFERED: usize = 64 << 20;
/// Smallest buffer, which is reserved for each possible further connection.
const MIN_BUFFER: usize = 4 << 10;
const MAX_BUFFER: usize = 512 << 10;
/// Idle timeout of a flow without a connection.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

impl NetstackWorker {
    /// Handles a packet that has left the sandbox.
    pub(super) fn handle_packet(&mut self, bytes: &[u8], now: Instant) {
        let Some(packet) = IpPacket::read(bytes).filter(|packet| is_unicast(packet)) else { return };
        let key = key_of(&packet);
        if !self.flows.contains_key(&key) {
            if !starts_flow(&packet) {
                return self.refuse_stray(&packet);
            }
            if self.flows.len() >= MAX_FLOWS && !self.make_room(now) {
                return self.refuse_at_once(&packet, key, "too many concurrent flows", now);
            }
            let entry = self.new_entry(key, now);
            self.flows.insert(key, entry);
        }
        let Some(entry) = self.flows.get_mut(&key) else { return };
        let departed = self.air.send_from_sandbox(key, &mut entry.meta, bytes, now);
        let times = match departed {
            OutboundArrival::Now => 1,
            OutboundArrival::Twice => 2,
            OutboundArrival::Later => 0,
        };
        for _ in 0..times {
            self.handle_arrived(&packet, key, now);
        }
    }

    pub(super) fn refuse_stray(&mut self, packet: &IpPacket) {
        if let PacketContent::Tcp(header) = &packet.content
            && let Some(reset) = reply::reset(packet, header)
        {
            self.air.send_unshaped(&reset);
        }
    }

    pub(super) fn refuse_at_once(&mut self, packet: &IpPacket, key: FlowKey, reason: &str, now: Instant) {
        let mut entry = self.new_entry(key, now);
        entry.meta.explain(reason);
        entry.meta.record.verdict = FlowDisposition::Refused;
        self.record_flow(entry.meta.finished());
        if let Some(answer) = refusal(packet) {
            self.air.send_unshaped(&answer);
        }
    }

    pub(super) fn new_entry(&mut self, key: FlowKey, now: Instant) -> FlowEntry {
        let name = if is_gateway(key.outer.ip()) && key.protocol != FlowProtocol::Dns {
            Some(HOST_NAME.to_owned())
        } else {
            self.names.of_address(key.outer.ip()).first().cloned()
        };
        let destination = match key.protocol {
            FlowProtocol::Icmp | FlowProtocol::Other => key.outer.ip().to_string(),
            FlowProtocol::Tcp | FlowProtocol::Udp | FlowProtocol::Dns => key.outer.to_string(),
        };
        let called =
            name.as_ref().map_or_else(|| destination.clone(), |name| format!("{name}:{}", key.outer.port()));
        let called = format!("{:?} {called}", key.protocol);
        let occurrence = self.occurrence(&called);
        let chance =
            |is_out| DirectionProgress::new(FlowSeed::of_flow(self.spec.seed, &called, occurrence, is_out));
        let (out, into) = (chance(true), chance(false));
        let at_ms = milliseconds(now - self.clock.origin);
        let record = FlowRecord { at_ms, protocol: key.protocol, destination, name, ..FlowRecord::default() };
        FlowEntry { meta: FlowProgress { record, began: now, seen: now, out, into }, state: FlowState::New }
    }

    /// Number of earlier flows to this destination. Destinations beyond the limit on records are not counted.
    pub(super) fn occurrence(&mut self, called: &str) -> u64 {
        if let Some(occurrence) = self.occurrences.get_mut(called) {
            *occurrence += 1;
            return *occurrence;
        }
        if self.occurrences.len() < MAX_RECORDS {
            self.occurrences.insert(called.to_owned(), 0);
        }
        0
    }

    /// Handles a packet that has arrived at the stack.
    pub(super) fn handle_arrived(&mut self, packet: &IpPacket, key: FlowKey, now: Instant) {
        let Some(entry) = self.flows.get_mut(&key) else { return };
        match (&mut entry.state, &packet.content) {
            (FlowState::New, _) => self.open(packet, key, now),
            (FlowState::Tcp(tcp), PacketContent::Tcp(_)) => {
                tcp.take(key, (&mut self.air, &mut entry.meta), packet.bytes, &self.clock, now);
                self.touched.insert(key);
            }
            (FlowState::Connecting(_), PacketContent::Tcp(TcpHeader { rst: true, .. })) => {
                self.close(key, now);
            }
            (FlowState::Connecting(_), _) => {}
            (FlowState::Udp { .. } | FlowState::Answered, _) => self.answer(packet, key, now),
            (FlowState::Tcp(_), _) => {}
        }
    }

    /// Size of each buffer of the next connection: the fewer connections, the larger.
    pub(super) fn buffer_size(&self) -> usize {
        let reserved = MAX_FLOWS.saturating_sub(self.flows.len()) * 2 * MIN_BUFFER;
        let free = MAX_BUFFERED.saturating_sub(self.buffered + reserved);
        (free / 64).clamp(MIN_BUFFER, MAX_BUFFER)
    }

    /// Establishes the connection of a flow with its SYN packet.
    pub(super) fn establish(
        &mut self,
        key: FlowKey,
        upstream: UpstreamSocket,
        names: Option<Vec<String>>,
        syn: &[u8],
        now: Instant,
    ) {
        let size = self.buffer_size();
        let Some(entry) = self.flows.get_mut(&key) else { return };
        let way = (&mut self.air, &mut entry.meta);
        let mut tcp = TcpConnection::new(key, way, upstream, names, size, &self.clock, now);
        self.buffered += tcp.buffered;
        tcp.take(key, (&mut self.air, &mut entry.meta), syn, &self.clock, now);
        entry.state = FlowState::Tcp(Box::new(tcp));
        self.touched.insert(key);
    }

    /// Ends a flow and stores its record.
    pub(super) fn close(&mut self, key: FlowKey, _now: Instant) {
        let Some(entry) = self.flows.remove(&key) else { return };
        match &entry.state {
            FlowState::Tcp(tcp) => {
                self.buffered -= tcp.buffered;
                self.keys.remove(&tcp.upstream.token);
            }
            FlowState::Udp { token, .. } => drop(self.keys.remove(token)),
            FlowState::Connecting(connecting) => drop(self.keys.remove(&connecting.token)),
            FlowState::New | FlowState::Answered => {}
        }
        self.record_flow(entry.meta.finished());
    }

    pub(super) fn record_flow(&mut self, flow: FlowRecord) {
        if self.past.len() < MAX_RECORDS {
            self.past.push(flow);
        } else {
            self.left_out += 1;
        }
    }

    /// Ends idle flows.
    pub(super) fn clean_up(&mut self, now: Instant) {
        self.swept = now;
        self.close_idle(now, IDLE_TIMEOUT);
    }

    /// Makes room for another flow by ending idle ones that can be recreated.
    pub(super) fn make_room(&mut self, now: Instant) -> bool {
        self.close_idle(now, Duration::from_secs(1));
        self.flows.len() < MAX_FLOWS
    }

    pub(super) fn close_idle(&mut self, now: Instant, idle: Duration) {
        let is_idle = |entry: &FlowEntry| {
            let can_be_recreated =
                matches!(entry.state, FlowState::New | FlowState::Udp { .. } | FlowState::Answered);
            can_be_recreated && now.saturating_duration_since(entry.meta.seen) >= idle
        };
        let idle: Vec<FlowKey> =
            self.flows.iter().filter(|(_, entry)| is_idle(entry)).map(|(key, _)| *key).collect();
        for key in idle {
            self.close(key, now);
        }
    }

    /// Handles the result of connecting to the destination.
    pub(super) fn connected(&mut self, key: FlowKey, now: Instant) {
        let Some(entry) = self.flows.get_mut(&key) else { return };
        let FlowState::Connecting(connecting) = std::mem::replace(&mut entry.state, FlowState::New) else {
            return;
        };
        let PendingConnection { socket, token, syn, names } = *connecting;
        match rustix::net::sockopt::socket_error(&socket) {
            Ok(Ok(())) => {
                let upstream = UpstreamSocket { socket, token, can_read: true, can_write: true, reset: None };
                self.establish(key, upstream, names, &syn, now);
            }
            Ok(Err(error)) | Err(error) => {
                self.keys.remove(&token);
                self.cannot_connect(key, &syn, error, now);
            }
        }
    }
}

/// Whether a packet is unicast. Multicast and broadcast packets come from the kernel, which looks for neighbours.
fn is_unicast(packet: &IpPacket) -> bool {
    !packet.destination.is_multicast() && packet.destination != IpAddr::V4(Ipv4Addr::BROADCAST)
}

pub(super) fn key_of(packet: &IpPacket) -> FlowKey {
    let (inner, outer) = packet.ends().unwrap_or(((packet.source, 0).into(), (packet.destination, 0).into()));
    let protocol = match packet.content {
        PacketContent::Tcp(_) => FlowProtocol::Tcp,
        PacketContent::Udp { destination: 53, .. } if is_gateway(packet.destination) => FlowProtocol::Dns,
        PacketContent::Udp { .. } => FlowProtocol::Udp,
        PacketContent::Icmp(_) => FlowProtocol::Icmp,
        PacketContent::Other(_) => FlowProtocol::Other,
    };
    FlowKey { protocol, inner, outer }
}

fn starts_flow(packet: &IpPacket) -> bool {
    match packet.content {
        PacketContent::Tcp(TcpHeader { syn, ack, rst, .. }) => syn && !ack && !rst,
        PacketContent::Udp { .. } | PacketContent::Icmp(_) | PacketContent::Other(_) => true,
    }
}

/// Answer to the sender of a refused packet.
pub(super) fn refusal(packet: &IpPacket) -> Option<Vec<u8>> {
    match &packet.content {
        PacketContent::Tcp(header) => reply::reset(packet, header),
        _ => reply::unreachable(packet, reply::UnreachableReason::Prohibited),
    }
}
