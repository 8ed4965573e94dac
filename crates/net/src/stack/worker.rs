//! The loop: packets and bytes in, packets and bytes out, and nothing that waits for anything else.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io;
use std::num::NonZero;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::network::{Flow, HOST_NAME, NetworkReport, NetworkSpec, Protocol, Verdict};
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::time::Timespec;

use super::air::{Air, Departed, note_arrival};
use super::clock::Clock;
use super::entry::{Connecting, Direction, Entry, Key, Meta, State, milliseconds};
use super::inbox::{Command, Inbox};
use super::tcp::{Next, Tcp, Upstream};
use super::tun::{HEADER, Tun};
use crate::addresses::is_gateway;
use crate::fate::Chance;
use crate::mock::{Authority, Server};
use crate::names::Names;
use crate::packet::{Content, Packet, TcpHeader};
use crate::reply;
use crate::resolve::Resolver;

/// Flows at the same time. More are refused.
const MOST_FLOWS: usize = 4096;
/// Flows of the past that are kept. More are counted.
const MOST_RECORDS: usize = 10_000;
/// Requests of one flow that are kept. More are counted.
const MOST_REQUESTS: usize = 1000;
/// Bytes of all buffers of connections.
const MOST_BUFFERED: usize = 64 << 20;
/// Bytes that are kept for each connection that may still come.
const LEAST_BUFFER: usize = 4 << 10;
const LARGEST_BUFFER: usize = 512 << 10;
/// Packets that are read before anything else has its turn.
const PACKETS_AT_ONCE: usize = 64;
/// How often what nobody uses any more is looked for.
const SWEEP: Duration = Duration::from_secs(5);
/// How long a flow without a connection is kept.
const IDLE: Duration = Duration::from_mins(1);

const TUN: u64 = 0;
const INBOX: u64 = 1;
const FIRST_SOCKET: u64 = 2;

pub(super) struct Worker {
    pub(super) spec: NetworkSpec,
    pub(super) air: Air,
    pub(super) clock: Clock,
    pub(super) names: Names,
    pub(super) resolver: Resolver,
    pub(super) server: Option<Server>,
    pub(super) authority: Option<Arc<Authority>>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) flows: HashMap<Key, Entry>,
    pub(super) keys: HashMap<u64, Key>,
    poller: OwnedFd,
    next_token: u64,
    /// How often each destination was begun to be talked to.
    occurrences: HashMap<String, u64>,
    /// Connections to look at.
    touched: HashSet<Key>,
    /// Connections that wait for room on the way to the sandbox.
    waiting: HashSet<Key>,
    timers: BinaryHeap<Reverse<(Instant, u64)>>,
    past: Vec<Flow>,
    left_out: u64,
    pub(super) buffered: usize,
    /// Room for a datagram.
    pub(super) datagram: Vec<u8>,
    swept: Instant,
    is_over: bool,
}

impl Worker {
    pub(super) fn new(
        interface: OwnedFd,
        spec: NetworkSpec,
        authority: Option<Arc<Authority>>,
        inbox: Arc<Inbox>,
    ) -> io::Result<Self> {
        let now = Instant::now();
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let air = Air::new(Tun::new(interface), spec.shape.clone(), now);
        epoll::add(&poller, &air.tun, EventData::new_u64(TUN), EventFlags::IN)?;
        epoll::add(&poller, inbox.as_fd(), EventData::new_u64(INBOX), EventFlags::IN)?;
        Ok(Self {
            resolver: Resolver::new(spec.resolver),
            spec,
            air,
            clock: Clock { origin: now },
            names: Names::default(),
            server: None,
            authority,
            inbox,
            flows: HashMap::new(),
            keys: HashMap::new(),
            poller,
            next_token: FIRST_SOCKET,
            occurrences: HashMap::new(),
            touched: HashSet::new(),
            waiting: HashSet::new(),
            timers: BinaryHeap::new(),
            past: Vec::new(),
            left_out: 0,
            buffered: 0,
            datagram: Vec::new(),
            swept: now,
            is_over: false,
        })
    }

    pub(super) fn run(&mut self) {
        // Packets that are delayed should arrive when they should, and not up to 50 microseconds later.
        if let Err(error) = rustix::thread::set_current_timer_slack(NonZero::new(1)) {
            tracing::debug!("delays are less exact than they could be: {error}");
        }
        let mut events = Vec::with_capacity(256);
        let mut buffer = vec![0; HEADER + usize::from(u16::MAX)];
        while !self.is_over {
            events.clear();
            let patience = self.patience();
            match epoll::wait(&self.poller, rustix::buffer::spare_capacity(&mut events), patience.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!("the network of a sandbox ends: {error}");
                    return;
                }
            }
            for event in &events {
                self.happened(*event, &mut buffer);
            }
            self.let_time_pass();
            self.pump();
        }
    }

    /// How long nothing happens by itself.
    fn patience(&self) -> Option<Timespec> {
        let sweep = (!self.flows.is_empty()).then_some(self.swept + SWEEP);
        let timer = self.timers.peek().map(|Reverse((at, _))| *at);
        let pending = (!self.touched.is_empty()).then(Instant::now);
        let next = sweep.into_iter().chain(timer).chain(self.air.next_at()).chain(pending).min()?;
        Timespec::try_from(next.saturating_duration_since(Instant::now())).ok()
    }

    fn happened(&mut self, event: Event, buffer: &mut [u8]) {
        match event.data.u64() {
            TUN => self.read_packets(buffer),
            INBOX => self.obey(),
            token => self.socket_is_ready(token, event.flags),
        }
    }

    fn read_packets(&mut self, buffer: &mut [u8]) {
        for _ in 0..PACKETS_AT_ONCE {
            match self.air.tun.read(buffer) {
                Ok(Some(length)) => {
                    if let Some(packet) = buffer.get(HEADER..length) {
                        self.depart(packet, Instant::now());
                    }
                }
                Ok(None) => return,
                // The interface is gone with the sandbox. What was recorded can still be asked for.
                Err(_) => {
                    let _ = epoll::delete(&self.poller, &self.air.tun);
                    return;
                }
            }
        }
    }

    /// A packet has left the sandbox.
    fn depart(&mut self, bytes: &[u8], now: Instant) {
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

    fn refuse_stray(&mut self, packet: &Packet) {
        if let Content::Tcp(header) = &packet.content
            && let Some(reset) = reply::reset(packet, header)
        {
            self.air.answer(&reset);
        }
    }

    fn refuse_at_once(&mut self, packet: &Packet, key: Key, reason: &str, now: Instant) {
        let mut entry = self.new_entry(key, now);
        entry.meta.explain(reason);
        entry.meta.record.verdict = Verdict::Refused;
        self.remember(entry.meta.finished());
        if let Some(answer) = refusal(packet) {
            self.air.answer(&answer);
        }
    }

    fn new_entry(&mut self, key: Key, now: Instant) -> Entry {
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
    fn occurrence(&mut self, called: &str) -> u64 {
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

    fn socket_is_ready(&mut self, token: u64, flags: EventFlags) {
        let Some(key) = self.keys.get(&token).copied() else { return };
        let now = Instant::now();
        let Some(entry) = self.flows.get_mut(&key) else { return };
        match &mut entry.state {
            State::Connecting(_) => self.connected(key, now),
            State::Tcp(tcp) => {
                let ended = flags.intersects(EventFlags::HUP | EventFlags::ERR);
                tcp.upstream.can_read |= ended || flags.intersects(EventFlags::IN | EventFlags::RDHUP);
                tcp.upstream.can_write |= ended || flags.contains(EventFlags::OUT);
                self.touched.insert(key);
            }
            State::Udp { .. } => self.read_datagrams(key, now),
            State::New | State::Answered => {}
        }
    }

    /// Watches a socket of a flow.
    pub(super) fn watch(&mut self, socket: &OwnedFd, key: Key, flags: EventFlags) -> io::Result<u64> {
        let token = self.next_token;
        self.next_token += 1;
        epoll::add(&self.poller, socket, EventData::new_u64(token), flags)?;
        self.keys.insert(token, key);
        Ok(token)
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

    fn let_time_pass(&mut self) {
        let now = Instant::now();
        while let Some((bytes, key)) = self.air.departed(now) {
            if let Some(packet) = Packet::read(&bytes) {
                self.arrived(&packet, key, now);
            }
        }
        while let Some(arriving) = self.air.deliver(now) {
            if let Some(entry) = self.flows.get_mut(&arriving.key) {
                note_arrival(&mut entry.meta, arriving.has_payload);
            }
        }
        while self.timers.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            if let Some(Reverse((_, token))) = self.timers.pop()
                && let Some(key) = self.keys.get(&token)
            {
                self.touched.insert(*key);
            }
        }
        if !self.waiting.is_empty() && self.air.has_room(now) {
            self.touched.extend(self.waiting.drain());
        }
        if now >= self.swept + SWEEP {
            self.sweep(now);
        }
    }

    fn pump(&mut self) {
        let touched: Vec<Key> = self.touched.drain().collect();
        for key in touched {
            let now = Instant::now();
            let Some(Entry { meta, state: State::Tcp(tcp) }) = self.flows.get_mut(&key) else { continue };
            let before = tcp.timer;
            match tcp.pump(key, (&mut self.air, meta), &self.clock, now) {
                Next::Wait => {}
                Next::More => drop(self.touched.insert(key)),
                Next::Full => drop(self.waiting.insert(key)),
                Next::Over => {
                    self.close(key, now);
                    continue;
                }
            }
            if let Some(at) = tcp.timer.filter(|at| before != Some(*at)) {
                self.timers.push(Reverse((at, tcp.upstream.token)));
            }
        }
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

    fn remember(&mut self, flow: Flow) {
        if self.past.len() < MOST_RECORDS {
            self.past.push(flow);
        } else {
            self.left_out += 1;
        }
    }

    /// Ends flows that nobody uses any more.
    fn sweep(&mut self, now: Instant) {
        self.swept = now;
        self.close_idle(now, IDLE);
    }

    /// Makes room for another flow by ending some that can begin again.
    fn make_room(&mut self, now: Instant) -> bool {
        self.close_idle(now, Duration::from_secs(1));
        self.flows.len() < MOST_FLOWS
    }

    fn close_idle(&mut self, now: Instant, idle: Duration) {
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

    fn obey(&mut self) {
        let inbox = Arc::clone(&self.inbox);
        for command in inbox.take() {
            let now = Instant::now();
            match command {
                Command::Change(spec) => self.change(*spec, now),
                // Whoever asked may have gone.
                Command::Report(sender) => drop(sender.send(self.report())),
                Command::Renew(spec, sender) => drop(sender.send(self.renew(spec, now))),
                Command::Resolved { key, question, found } => self.resolved(key, &question, found, now),
                Command::Requested { token, request } => self.requested(token, *request),
                Command::End => self.is_over = true,
            }
        }
    }

    fn requested(&mut self, token: u64, request: menace_model::network::FlowRequest) {
        if let Some(entry) = self.keys.get(&token).and_then(|key| self.flows.get_mut(key)) {
            let record = &mut entry.meta.record;
            if record.requests.len() < MOST_REQUESTS {
                record.requests.push(request);
            } else {
                record.requests_left_out += 1;
            }
        }
    }

    fn change(&mut self, spec: NetworkSpec, now: Instant) {
        self.air.change(spec.shape.clone());
        if self.spec.allow != spec.allow
            || self.spec.mocks != spec.mocks
            || self.spec.resolver != spec.resolver
        {
            self.names.forget_pins();
            self.resolver = Resolver::new(spec.resolver);
            self.server = None;
            self.spec = spec;
            self.break_off_what_is_not_allowed(now);
        } else {
            self.spec = spec;
        }
    }

    fn break_off_what_is_not_allowed(&mut self, now: Instant) {
        let refused: Vec<Key> = self.flows.keys().filter(|key| !self.is_allowed(key)).copied().collect();
        for key in refused {
            self.break_off(key, "the rules changed", now);
        }
    }

    fn break_off(&mut self, key: Key, reason: &str, now: Instant) {
        if let Some(Entry { meta, state }) = self.flows.get_mut(&key) {
            meta.explain(reason);
            if let State::Tcp(tcp) = state {
                tcp.abort(key, (&mut self.air, meta), &self.clock, now);
            }
        }
        self.close(key, now);
    }

    fn renew(&mut self, spec: Option<Box<NetworkSpec>>, now: Instant) -> NetworkReport {
        let keys: Vec<Key> = self.flows.keys().copied().collect();
        for key in keys {
            self.close(key, now);
        }
        self.air.clear(now);
        let report = NetworkReport { flows: std::mem::take(&mut self.past), flows_left_out: self.left_out };
        self.left_out = 0;
        self.names = Names::default();
        self.occurrences.clear();
        self.touched.clear();
        self.waiting.clear();
        self.timers.clear();
        self.clock = Clock { origin: now };
        let spec = spec.map_or_else(|| self.spec.clone(), |spec| *spec);
        self.air.change(spec.shape.clone());
        // A mock that is still at something must not count it for those who come next.
        self.server = None;
        self.resolver = Resolver::new(spec.resolver);
        self.spec = spec;
        sorted(report)
    }

    fn report(&self) -> NetworkReport {
        let now = self.flows.values().map(|entry| entry.meta.record.clone());
        let flows = self.past.iter().cloned().chain(now).collect();
        sorted(NetworkReport { flows, flows_left_out: self.left_out })
    }
}

fn sorted(mut report: NetworkReport) -> NetworkReport {
    report.flows.sort_by(|left, right| left.at_ms.total_cmp(&right.at_ms));
    report
}

/// Packets to many are the kernel's own, looking for neighbours that are not there.
fn is_for_one(packet: &Packet) -> bool {
    !packet.destination.is_multicast()
        && packet.destination != std::net::IpAddr::V4(std::net::Ipv4Addr::BROADCAST)
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

impl Worker {
    /// The other end of a connection has answered, or not.
    fn connected(&mut self, key: Key, now: Instant) {
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
