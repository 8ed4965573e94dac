//! Flows: how they begin, what becomes of their packets, how they end.

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

/// Flows at the same time. More are refused.
const MOST_FLOWS: usize = 4096;
/// Flows of the past that are kept. More are counted.
const MOST_RECORDS: usize = 10_000;
/// Bytes of all buffers of connections.
const MOST_BUFFERED: usize = 64 << 20;
/// Bytes that are kept for each connection that may still come.
const LEAST_BUFFER: usize = 4 << 10;
const LARGEST_BUFFER: usize = 512 << 10;
/// How long a flow without a connection is kept.
const IDLE: Duration = Duration::from_mins(1);

impl Worker {
    /// A packet has left the sandbox.
    pub(super) fn depart(&mut self, bytes: &[u8], now: Instant) {
        let Some(packet) = Packet::read(bytes).filter(|packet| is_for_one(packet)) else { return };
        let key = key_of(&packet);
        if !self.flows.contains_key(&key) {
            if !begins_a_flow(&packet) {
                return self.refuse_stray(&packet);
            }
            if self.flows.len() >= MOST_FLOWS && !self.make_room(now) {
                return self.refuse_at_once(&packet, key, "there are too many flows", now);
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

    /// How often this destination was talked to before. Of many destinations the later ones are not counted.
    pub(super) fn occurrence(&mut self, called: &str) -> u64 {
        if let Some(occurrence) = self.occurrences.get_mut(called) {
            *occurrence += 1;
            return *occurrence;
        }
        if self.occurrences.len() < MOST_RECORDS {
            self.occurrences.insert(called.to_owned(), 0);
        }
        0
    }

    /// A packet has arrived at the stack.
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

    /// The size of each buffer of the next connection: large as long as there are few.
    pub(super) fn buffer_size(&self) -> usize {
        let kept = MOST_FLOWS.saturating_sub(self.flows.len()) * 2 * LEAST_BUFFER;
        let free = MOST_BUFFERED.saturating_sub(self.buffered + kept);
        (free / 64).clamp(LEAST_BUFFER, LARGEST_BUFFER)
    }

    /// Lets the connection of a flow begin with the packet that asked for it.
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

    /// Ends a flow and remembers what was seen of it.
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
        if self.past.len() < MOST_RECORDS {
            self.past.push(flow);
        } else {
            self.left_out += 1;
        }
    }

    /// Ends flows that nobody uses any more.
    pub(super) fn sweep(&mut self, now: Instant) {
        self.swept = now;
        self.close_idle(now, IDLE);
    }

    /// Makes room for another flow by ending some that can begin again.
    pub(super) fn make_room(&mut self, now: Instant) -> bool {
        self.close_idle(now, Duration::from_secs(1));
        self.flows.len() < MOST_FLOWS
    }

    pub(super) fn close_idle(&mut self, now: Instant, idle: Duration) {
        let is_idle = |entry: &Entry| {
            let can_begin_again = matches!(entry.state, State::New | State::Udp { .. } | State::Answered);
            can_begin_again && now.saturating_duration_since(entry.meta.seen) >= idle
        };
        let idle: Vec<Key> =
            self.flows.iter().filter(|(_, entry)| is_idle(entry)).map(|(key, _)| *key).collect();
        for key in idle {
            self.close(key, now);
        }
    }

    /// The other end of a connection has answered, or not.
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

/// Packets to many are the kernel's own, looking for neighbours that are not there.
fn is_for_one(packet: &Packet) -> bool {
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

fn begins_a_flow(packet: &Packet) -> bool {
    match packet.content {
        Content::Tcp(TcpHeader { syn, ack, rst, .. }) => syn && !ack && !rst,
        Content::Udp { .. } | Content::Icmp(_) | Content::Other(_) => true,
    }
}

/// What whoever sent a packet is told that is not passed on.
pub(super) fn refusal(packet: &Packet) -> Option<Vec<u8>> {
    match &packet.content {
        Content::Tcp(header) => reply::reset(packet, header),
        _ => reply::unreachable(packet, reply::Unreachable::Prohibited),
    }
}
