//! Life cycle of flows: creation, delivery of their packets, end.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use menace_model::network::{Flow, HOST_NAME, Protocol, Verdict};

use super::air::Departed;
use super::entry::{Connecting, Direction, Entry, Key, Meta, State, milliseconds};
use super::tcp::{Tcp, Upstream};
use super::worker::Worker;
use crate::addresses::is_gateway;
use crate::fate::Chance;
use crate::packet::{Content, Packet, TcpHeader};
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

impl Worker {
    /// Handles a packet that has left the sandbox.
    pub(super) fn depart(&mut self, bytes: &[u8], now: Instant) {
        let Some(packet) = Packet::read(bytes).filter(|packet| is_unicast(packet)) else { return };
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
        let departed = self.air.depart(key, &mut entry.meta, bytes, now);
        let times = match departed {
            Departed::Now => 1,
            Departed::Twice => 2,
            Departed::Later => 0,
        };
        for _ in 0..times {
            self.arrived(&packet, key, now);
        }
    }

    pub(super) fn refuse_stray(&mut self, packet: &Packet) {
        if let Content::Tcp(header) = &packet.content
            && let Some(reset) = reply::reset(packet, header)
        {
            self.air.answer(&reset);
        }
    }

    pub(super) fn refuse_at_once(&mut self, packet: &Packet, key: Key, reason: &str, now: Instant) {
        let mut entry = self.new_entry(key, now);
        entry.meta.explain(reason);
        entry.meta.record.verdict = Verdict::Refused;
        self.remember(entry.meta.finished());
        if let Some(answer) = refusal(packet) {
            self.air.answer(&answer);
        }
    }

    pub(super) fn new_entry(&mut self, key: Key, now: Instant) -> Entry {
        let name = if is_gateway(key.outer.ip()) && key.protocol != Protocol::Dns {
            Some(HOST_NAME.to_owned())
        } else {
            self.names.of_address(key.outer.ip()).first().cloned()
        };
        let destination = match key.protocol {
            Protocol::Icmp | Protocol::Other => key.outer.ip().to_string(),
            Protocol::Tcp | Protocol::Udp | Protocol::Dns => key.outer.to_string(),
        };
        let called =
            name.as_ref().map_or_else(|| destination.clone(), |name| format!("{name}:{}", key.outer.port()));
        let called = format!("{:?} {called}", key.protocol);
        let occurrence = self.occurrence(&called);
        let chance = |is_out| Direction::new(Chance::of_flow(self.spec.seed, &called, occurrence, is_out));
        let (out, into) = (chance(true), chance(false));
        let at_ms = milliseconds(now - self.clock.origin);
        let record = Flow { at_ms, protocol: key.protocol, destination, name, ..Flow::default() };
        Entry { meta: Meta { record, began: now, seen: now, out, into }, state: State::New }
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
    pub(super) fn arrived(&mut self, packet: &Packet, key: Key, now: Instant) {
        let Some(entry) = self.flows.get_mut(&key) else { return };
        match (&mut entry.state, &packet.content) {
            (State::New, _) => self.open(packet, key, now),
            (State::Tcp(tcp), Content::Tcp(_)) => {
                tcp.take(key, (&mut self.air, &mut entry.meta), packet.bytes, &self.clock, now);
                self.touched.insert(key);
            }
            (State::Connecting(_), Content::Tcp(TcpHeader { rst: true, .. })) => self.close(key, now),
            (State::Connecting(_), _) => {}
            (State::Udp { .. } | State::Answered, _) => self.answer(packet, key, now),
            (State::Tcp(_), _) => {}
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
        key: Key,
        upstream: Upstream,
        names: Option<Vec<String>>,
        syn: &[u8],
        now: Instant,
    ) {
        let size = self.buffer_size();
        let Some(entry) = self.flows.get_mut(&key) else { return };
        let way = (&mut self.air, &mut entry.meta);
        let mut tcp = Tcp::new(key, way, upstream, names, size, &self.clock, now);
        self.buffered += tcp.buffered;
        tcp.take(key, (&mut self.air, &mut entry.meta), syn, &self.clock, now);
        entry.state = State::Tcp(Box::new(tcp));
        self.touched.insert(key);
    }

    /// Ends a flow and stores its record.
    pub(super) fn close(&mut self, key: Key, _now: Instant) {
        let Some(entry) = self.flows.remove(&key) else { return };
        match &entry.state {
            State::Tcp(tcp) => {
                self.buffered -= tcp.buffered;
                self.keys.remove(&tcp.upstream.token);
            }
            State::Udp { token, .. } => drop(self.keys.remove(token)),
            State::Connecting(connecting) => drop(self.keys.remove(&connecting.token)),
            State::New | State::Answered => {}
        }
        self.remember(entry.meta.finished());
    }

    pub(super) fn remember(&mut self, flow: Flow) {
        if self.past.len() < MAX_RECORDS {
            self.past.push(flow);
        } else {
            self.left_out += 1;
        }
    }

    /// Ends idle flows.
    pub(super) fn sweep(&mut self, now: Instant) {
        self.swept = now;
        self.close_idle(now, IDLE_TIMEOUT);
    }

    /// Makes room for another flow by ending idle ones that can be recreated.
    pub(super) fn make_room(&mut self, now: Instant) -> bool {
        self.close_idle(now, Duration::from_secs(1));
        self.flows.len() < MAX_FLOWS
    }

    pub(super) fn close_idle(&mut self, now: Instant, idle: Duration) {
        let is_idle = |entry: &Entry| {
            let can_be_recreated = matches!(entry.state, State::New | State::Udp { .. } | State::Answered);
            can_be_recreated && now.saturating_duration_since(entry.meta.seen) >= idle
        };
        let idle: Vec<Key> =
            self.flows.iter().filter(|(_, entry)| is_idle(entry)).map(|(key, _)| *key).collect();
        for key in idle {
            self.close(key, now);
        }
    }

    /// Handles the result of connecting to the destination.
    pub(super) fn connected(&mut self, key: Key, now: Instant) {
        let Some(entry) = self.flows.get_mut(&key) else { return };
        let State::Connecting(connecting) = std::mem::replace(&mut entry.state, State::New) else { return };
        let Connecting { socket, token, syn, names } = *connecting;
        match rustix::net::sockopt::socket_error(&socket) {
            Ok(Ok(())) => {
                let upstream = Upstream { socket, token, can_read: true, can_write: true, reset: None };
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
fn is_unicast(packet: &Packet) -> bool {
    !packet.destination.is_multicast() && packet.destination != IpAddr::V4(Ipv4Addr::BROADCAST)
}

pub(super) fn key_of(packet: &Packet) -> Key {
    let (inner, outer) = packet.ends().unwrap_or(((packet.source, 0).into(), (packet.destination, 0).into()));
    let protocol = match packet.content {
        Content::Tcp(_) => Protocol::Tcp,
        Content::Udp { destination: 53, .. } if is_gateway(packet.destination) => Protocol::Dns,
        Content::Udp { .. } => Protocol::Udp,
        Content::Icmp(_) => Protocol::Icmp,
        Content::Other(_) => Protocol::Other,
    };
    Key { protocol, inner, outer }
}

fn starts_flow(packet: &Packet) -> bool {
    match packet.content {
        Content::Tcp(TcpHeader { syn, ack, rst, .. }) => syn && !ack && !rst,
        Content::Udp { .. } | Content::Icmp(_) | Content::Other(_) => true,
    }
}

/// Answer to the sender of a refused packet.
pub(super) fn refusal(packet: &Packet) -> Option<Vec<u8>> {
    match &packet.content {
        Content::Tcp(header) => reply::reset(packet, header),
        _ => reply::unreachable(packet, reply::Unreachable::Prohibited),
    }
}
