//! Event loop of a network: packets and bytes in, packets and bytes out, without blocking.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io;
use std::num::NonZero;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::network::{FlowRecord, NetworkSpec};
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::time::Timespec;

use super::clock::SmoltcpClock;
use super::flow_entry::{FlowEntry, FlowKey, FlowState};
use super::inbox::NetstackInbox;
use super::link::{SimulatedLink, record_first_byte};
use super::tcp::TcpTurnResult;
use super::tun::{HEADER, TunDevice};
use crate::dns_names::DnsNameTable;
use crate::mock::{MockCertificateAuthority, MockServer};
use crate::packet::IpPacket;
use crate::resolver::DnsResolver;

/// Packets that are read before other events are handled.
const PACKETS_PER_TURN: usize = 64;
/// Interval of the clean-up of idle flows.
const CLEAN_UP_INTERVAL: Duration = Duration::from_secs(5);

const TUN: u64 = 0;
const INBOX: u64 = 1;
const FIRST_SOCKET: u64 = 2;

pub(super) struct NetstackWorker {
    pub(super) spec: NetworkSpec,
    pub(super) air: SimulatedLink,
    pub(super) clock: SmoltcpClock,
    pub(super) names: DnsNameTable,
    pub(super) resolver: DnsResolver,
    pub(super) server: Option<MockServer>,
    pub(super) authority: Option<Arc<MockCertificateAuthority>>,
    pub(super) inbox: Arc<NetstackInbox>,
    pub(super) flows: HashMap<FlowKey, FlowEntry>,
    pub(super) keys: HashMap<u64, FlowKey>,
    poller: OwnedFd,
    next_token: u64,
    /// Number of flows to each destination.
    pub(super) occurrences: HashMap<String, u64>,
    /// Connections to serve.
    pub(super) touched: HashSet<FlowKey>,
    /// Connections that wait for room on the link to the sandbox.
    pub(super) waiting: HashSet<FlowKey>,
    pub(super) timers: BinaryHeap<Reverse<(Instant, u64)>>,
    pub(super) past: Vec<FlowRecord>,
    pub(super) left_out: u64,
    pub(super) buffered: usize,
    /// Buffer for a datagram.
    pub(super) datagram: Vec<u8>,
    pub(super) swept: Instant,
    pub(super) is_over: bool,
}

impl NetstackWorker {
    pub(super) fn new(
        interface: OwnedFd,
        spec: NetworkSpec,
        authority: Option<Arc<MockCertificateAuthority>>,
        inbox: Arc<NetstackInbox>,
    ) -> io::Result<Self> {
        let now = Instant::now();
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let air = SimulatedLink::new(TunDevice::new(interface), &spec, now);
        epoll::add(&poller, &air.tun, EventData::new_u64(TUN), EventFlags::IN)?;
        epoll::add(&poller, inbox.as_fd(), EventData::new_u64(INBOX), EventFlags::IN)?;
        Ok(Self {
            resolver: DnsResolver::new(spec.resolver),
            spec,
            air,
            clock: SmoltcpClock { origin: now },
            names: DnsNameTable::default(),
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
        // The default timer slack would deliver delayed packets up to 50 microseconds late.
        if let Err(error) = rustix::thread::set_current_timer_slack(NonZero::new(1)) {
            tracing::debug!("failed to set the timer slack, delays are less exact: {error}");
        }
        let mut events = Vec::with_capacity(256);
        let mut buffer = vec![0; HEADER + usize::from(u16::MAX)];
        while !self.is_over {
            events.clear();
            let poll_timeout = self.poll_timeout();
            match epoll::wait(
                &self.poller,
                rustix::buffer::spare_capacity(&mut events),
                poll_timeout.as_ref(),
            ) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!("the network of a sandbox stopped: {error}");
                    return;
                }
            }
            for event in &events {
                self.handle_event(*event, &mut buffer);
            }
            self.handle_timers();
            self.pump();
        }
    }

    /// Time until the next timer, due packet or clean-up.
    fn poll_timeout(&self) -> Option<Timespec> {
        let clean_up = (!self.flows.is_empty()).then_some(self.swept + CLEAN_UP_INTERVAL);
        let timer = self.timers.peek().map(|Reverse((at, _))| *at);
        let pending = (!self.touched.is_empty()).then(Instant::now);
        let next = clean_up.into_iter().chain(timer).chain(self.air.next_at()).chain(pending).min()?;
        Timespec::try_from(next.saturating_duration_since(Instant::now())).ok()
    }

    fn handle_event(&mut self, event: Event, buffer: &mut [u8]) {
        match event.data.u64() {
            TUN => self.read_packets(buffer),
            INBOX => self.run_commands(),
            token => self.socket_is_ready(token, event.flags),
        }
    }

    fn read_packets(&mut self, buffer: &mut [u8]) {
        for _ in 0..PACKETS_PER_TURN {
            match self.air.tun.read(buffer) {
                Ok(Some(length)) => {
                    if let Some(packet) = buffer.get(HEADER..length) {
                        self.handle_packet(packet, Instant::now());
                    }
                }
                Ok(None) => return,
                // The interface is gone with the sandbox. The recorded flows can still be reported.
                Err(_) => {
                    let _ = epoll::delete(&self.poller, &self.air.tun);
                    return;
                }
            }
        }
    }

    fn socket_is_ready(&mut self, token: u64, flags: EventFlags) {
        let Some(key) = self.keys.get(&token).copied() else { return };
        let now = Instant::now();
        let Some(entry) = self.flows.get_mut(&key) else { return };
        match &mut entry.state {
            FlowState::Connecting(_) => self.connected(key, now),
            FlowState::Tcp(tcp) => {
                let ended = flags.intersects(EventFlags::HUP | EventFlags::ERR);
                tcp.upstream.can_read |= ended || flags.intersects(EventFlags::IN | EventFlags::RDHUP);
                tcp.upstream.can_write |= ended || flags.contains(EventFlags::OUT);
                self.touched.insert(key);
            }
            FlowState::Udp { .. } => self.read_datagrams(key, now),
            FlowState::New | FlowState::Answered => {}
        }
    }

    /// Registers the socket of a flow with epoll.
    pub(super) fn watch(&mut self, socket: &OwnedFd, key: FlowKey, flags: EventFlags) -> io::Result<u64> {
        let token = self.next_token;
        self.next_token += 1;
        epoll::add(&self.poller, socket, EventData::new_u64(token), flags)?;
        self.keys.insert(token, key);
        Ok(token)
    }

    fn handle_timers(&mut self) {
        let now = Instant::now();
        while let Some((bytes, key)) = self.air.next_from_sandbox(now) {
            if let Some(packet) = IpPacket::read(&bytes) {
                self.handle_arrived(&packet, key, now);
            }
        }
        while let Some(arriving) = self.air.deliver(now) {
            if let Some(entry) = self.flows.get_mut(&arriving.key) {
                record_first_byte(&mut entry.meta, arriving.has_payload);
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
        if now >= self.swept + CLEAN_UP_INTERVAL {
            self.clean_up(now);
        }
    }

    fn pump(&mut self) {
        let touched: Vec<FlowKey> = self.touched.drain().collect();
        for key in touched {
            let now = Instant::now();
            let Some(FlowEntry { meta, state: FlowState::Tcp(tcp) }) = self.flows.get_mut(&key) else {
                continue;
            };
            let before = tcp.timer;
            match tcp.pump(key, (&mut self.air, meta), &self.clock, now) {
                TcpTurnResult::Wait => {}
                TcpTurnResult::More => drop(self.touched.insert(key)),
                TcpTurnResult::Full => drop(self.waiting.insert(key)),
                TcpTurnResult::Over => {
                    // The mock sent the records of its requests before it closed the connection.
                    self.run_commands();
                    self.close(key, now);
                    continue;
                }
            }
            if let Some(at) = tcp.timer.filter(|at| before != Some(*at)) {
                self.timers.push(Reverse((at, tcp.upstream.token)));
            }
        }
    }
}
