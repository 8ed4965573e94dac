//! Opens flows on their first packet, and handles datagrams and DNS queries.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use menace_model::network::{FlowDisposition, FlowProtocol};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
    socketpair, sockopt,
};

use super::flow_entry::{FlowKey, FlowState, PendingConnection, milliseconds};
use super::flows::refusal;
use super::inbox::NetstackCommand;
use super::tcp::UpstreamSocket;
use super::worker::NetstackWorker;
use crate::addresses::{GATEWAY_V4, GATEWAY_V6, is_gateway};
use crate::dns::{DnsQuestion, DnsReply};
use crate::mock::{MockConnection, MockServer};
use crate::packet::{IpPacket, PacketContent};
use crate::policy::{DestinationDecision, DnsDecision, NOT_ALLOWED, decide, decide_name, may_be_answered};
use crate::reply::{self, UnreachableReason};
use crate::resolver::{DnsLookupError, DnsLookupResult};

/// Addresses of a name per IP version; further ones are left out, so that an answer always fits into one datagram.
const MAX_ADDRESSES: usize = 8;
/// Datagrams that are read before other events are handled.
const DATAGRAMS_PER_TURN: usize = 64;

/// Events of a stream, edge-triggered: the flow stores whether it can read and write. A datagram socket is level-triggered
/// and read until it is empty.
const STREAM: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);

impl NetstackWorker {
    /// Applies the policy to a flow whose first packet has arrived.
    pub(super) fn open(&mut self, packet: &IpPacket, key: FlowKey, now: Instant) {
        match key.protocol {
            FlowProtocol::Dns => self.answer_locally(packet, key, FlowDisposition::Allowed, now),
            FlowProtocol::Icmp
                if is_gateway(key.outer.ip()) || self.names.mocked(key.outer.ip()).is_some() =>
            {
                self.answer_locally(packet, key, FlowDisposition::Mocked, now);
            }
            FlowProtocol::Icmp | FlowProtocol::Other => self.refuse(packet, key, NOT_ALLOWED, now),
            FlowProtocol::Tcp | FlowProtocol::Udp => match decide(&self.spec, &self.names, key.outer) {
                DestinationDecision::Refuse { reason } => self.refuse(packet, key, reason, now),
                DestinationDecision::Mock { host } if key.protocol == FlowProtocol::Tcp => {
                    self.mock(packet, key, host, now);
                }
                DestinationDecision::Mock { .. } => {
                    self.refuse(packet, key, "mocks support only TCP", now);
                }
                DestinationDecision::Pass { to, names } => self.forward(packet, key, to, names, now),
            },
        }
    }

    /// Whether the current policy still allows an open flow.
    pub(super) fn is_allowed(&self, key: &FlowKey) -> bool {
        match key.protocol {
            FlowProtocol::Tcp | FlowProtocol::Udp => {
                !matches!(decide(&self.spec, &self.names, key.outer), DestinationDecision::Refuse { .. })
            }
            FlowProtocol::Dns | FlowProtocol::Icmp | FlowProtocol::Other => true,
        }
    }

    fn refuse(&mut self, packet: &IpPacket, key: FlowKey, reason: &str, now: Instant) {
        let Some(entry) = self.flows.get_mut(&key) else { return };
        entry.meta.explain(reason);
        entry.meta.record.verdict = FlowDisposition::Refused;
        if let Some(answer) = refusal(packet) {
            self.air.send_packet_to_sandbox(key, &mut entry.meta, &answer, now);
        }
        // A refusal is not an answer to the program.
        entry.meta.record.first_byte_ms = None;
        self.close(key, now);
    }

    fn answer_locally(&mut self, packet: &IpPacket, key: FlowKey, verdict: FlowDisposition, now: Instant) {
        if let Some(entry) = self.flows.get_mut(&key) {
            entry.meta.record.verdict = verdict;
            entry.state = FlowState::Answered;
        }
        self.answer(packet, key, now);
    }

    fn mock(&mut self, packet: &IpPacket, key: FlowKey, host: String, now: Instant) {
        let opened = self.open_mock(key, host);
        let Some(entry) = self.flows.get_mut(&key) else { return };
        match opened {
            Ok(upstream) => {
                entry.meta.record.verdict = FlowDisposition::Mocked;
                self.establish(key, upstream, None, packet.bytes, now);
            }
            Err(error) => {
                tracing::warn!("failed to mock {}: {error}", key.outer);
                self.refuse(packet, key, "failed to start the mock", now);
            }
        }
    }

    fn open_mock(&mut self, key: FlowKey, host: String) -> std::io::Result<UpstreamSocket> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let token = self.watch(&ours, key, STREAM)?;
        let reset = Arc::new(AtomicBool::new(false));
        let connection = MockConnection {
            stream: theirs,
            host,
            port: key.outer.port(),
            token,
            reset: Arc::clone(&reset),
            inbox: Arc::clone(&self.inbox),
        };
        let server = match &self.server {
            Some(server) => server,
            None => self.server.insert(MockServer::start(&self.spec, self.authority.clone())?),
        };
        server.serve(connection);
        Ok(UpstreamSocket { socket: ours, token, can_read: true, can_write: true, reset: Some(reset) })
    }

    fn forward(
        &mut self,
        packet: &IpPacket,
        key: FlowKey,
        to: SocketAddr,
        names: Option<Vec<String>>,
        now: Instant,
    ) {
        let is_stream = key.protocol == FlowProtocol::Tcp;
        let connected = open_socket(to, is_stream);
        let Some(entry) = self.flows.get_mut(&key) else { return };
        entry.meta.record.verdict = FlowDisposition::Allowed;
        let (socket, is_connected) = match connected {
            Ok(socket) => socket,
            Err(error) => return self.cannot_connect(key, packet.bytes, error, now),
        };
        let token = match self.watch(&socket, key, if is_stream { STREAM } else { EventFlags::IN }) {
            Ok(token) => token,
            Err(error) => {
                tracing::warn!("failed to watch a socket: {error}");
                return self.refuse(packet, key, "failed to watch the socket", now);
            }
        };
        let Some(entry) = self.flows.get_mut(&key) else { return };
        if !is_stream {
            entry.state = FlowState::Udp { socket, token };
            return self.answer(packet, key, now);
        }
        let syn = packet.bytes;
        if is_connected {
            let upstream = UpstreamSocket { socket, token, can_read: true, can_write: true, reset: None };
            return self.establish(key, upstream, names, syn, now);
        }
        entry.state =
            FlowState::Connecting(Box::new(PendingConnection { socket, token, syn: syn.to_vec(), names }));
    }

    /// Reports a failed connection to the sandbox as the error that the host got.
    pub(super) fn cannot_connect(&mut self, key: FlowKey, syn: &[u8], error: Errno, now: Instant) {
        let Some(entry) = self.flows.get_mut(&key) else { return };
        entry.meta.explain(&format!("failed to connect: {error}"));
        if let Some(packet) = IpPacket::read(syn) {
            let answer = match (error, &packet.content) {
                (Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::TIMEDOUT, _) => {
                    reply::unreachable(&packet, UnreachableReason::Host)
                }
                (_, PacketContent::Tcp(header)) => reply::reset(&packet, header),
                _ => reply::unreachable(&packet, UnreachableReason::Port),
            };
            if let Some(answer) = answer {
                self.air.send_packet_to_sandbox(key, &mut entry.meta, &answer, now);
            }
        }
        self.close(key, now);
    }

    /// Forwards or answers a packet of a flow without a connection.
    pub(super) fn answer(&mut self, packet: &IpPacket, key: FlowKey, now: Instant) {
        let Some(entry) = self.flows.get_mut(&key) else { return };
        match (&entry.state, &packet.content) {
            (FlowState::Udp { socket, .. }, PacketContent::Udp { payload, .. }) => {
                match send(socket, payload, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                    Ok(sent) => entry.meta.record.out.bytes += sent as u64,
                    Err(Errno::CONNREFUSED) => self.port_unreachable(packet, key, now),
                    // A datagram that the host does not accept is lost, as on any network.
                    Err(_) => entry.meta.record.out.lost += 1,
                }
            }
            (FlowState::Answered, PacketContent::Udp { payload, .. }) => {
                entry.meta.record.out.bytes += payload.len() as u64;
                self.answer_name(payload, key, now);
            }
            (FlowState::Answered, PacketContent::Icmp(message)) => {
                if let Some(answer) = reply::echo(packet, message) {
                    entry.meta.record.out.bytes += message.len() as u64;
                    entry.meta.record.into.bytes += message.len() as u64;
                    self.air.send_packet_to_sandbox(key, &mut entry.meta, &answer, now);
                }
            }
            _ => {}
        }
    }

    fn port_unreachable(&mut self, packet: &IpPacket, key: FlowKey, now: Instant) {
        let Some(entry) = self.flows.get_mut(&key) else { return };
        entry.meta.explain("port unreachable");
        if let Some(answer) = reply::unreachable(packet, UnreachableReason::Port) {
            self.air.send_packet_to_sandbox(key, &mut entry.meta, &answer, now);
        }
    }

    pub(super) fn read_datagrams(&mut self, key: FlowKey, now: Instant) {
        let mut buffer = std::mem::take(&mut self.datagram);
        buffer.resize(1 << 16, 0);
        self.forward_datagrams(key, &mut buffer, now);
        self.datagram = buffer;
    }

    fn forward_datagrams(&mut self, key: FlowKey, buffer: &mut [u8], now: Instant) {
        for _ in 0..DATAGRAMS_PER_TURN {
            let Some(entry) = self.flows.get_mut(&key) else { return };
            let FlowState::Udp { socket, .. } = &entry.state else { return };
            let payload = match recv(socket, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((length, _)) => buffer.get(..length).unwrap_or(&[]),
                Err(Errno::AGAIN | Errno::INTR) => return,
                Err(error) => return entry.meta.explain(&format!("failed to receive: {error}")),
            };
            entry.meta.record.into.bytes += payload.len() as u64;
            entry.meta.seen = now;
            if let Some(packet) = reply::datagram(key.outer, key.inner, payload) {
                self.air.send_packet_to_sandbox(key, &mut entry.meta, &packet, now);
            }
        }
    }

    fn answer_name(&mut self, payload: &[u8], key: FlowKey, now: Instant) {
        let Some(question) = DnsQuestion::read(payload) else { return };
        let Some(entry) = self.flows.get_mut(&key) else { return };
        let record = &mut entry.meta.record;
        // A program may query several names through one socket, and each is recorded as a flow.
        let earlier = record.destination != question.name && record.destination != key.outer.to_string();
        let before = earlier.then(|| std::mem::take(record));
        if let Some(before) = &before {
            record.protocol = before.protocol;
            record.at_ms = milliseconds(now - self.clock.origin);
            entry.meta.began = now;
        }
        record.destination.clone_from(&question.name);
        let lookup = decide_name(&self.spec, &question.name);
        record.verdict = match lookup {
            DnsDecision::Refuse => FlowDisposition::Refused,
            DnsDecision::Mocked | DnsDecision::Gateway => FlowDisposition::Mocked,
            DnsDecision::Resolve => FlowDisposition::Allowed,
        };
        if let Some(before) = before {
            self.record_flow(before);
        }
        let Some(entry) = self.flows.get_mut(&key) else { return };
        let reply = match lookup {
            DnsDecision::Refuse => {
                entry.meta.explain(NOT_ALLOWED);
                DnsReply::NoSuchName
            }
            DnsDecision::Gateway => DnsReply::Addresses(vec![GATEWAY_V4.into(), GATEWAY_V6.into()]),
            DnsDecision::Mocked => match self.names.stand_in(&question.name) {
                Some((v4, v6)) => DnsReply::Addresses(vec![v4.into(), v6.into()]),
                None => DnsReply::Failure,
            },
            DnsDecision::Resolve if !question.is_for_addresses() => DnsReply::Addresses(Vec::new()),
            DnsDecision::Resolve => match self.names.pinned(&question.name) {
                Some(addresses) => DnsReply::Addresses(addresses.to_vec()),
                None if self.look_up(key, &question) => return,
                None => DnsReply::Failure,
            },
        };
        self.send_reply(key, &question, &reply, now);
    }

    fn look_up(&self, key: FlowKey, question: &DnsQuestion) -> bool {
        let (inbox, question) = (Arc::clone(&self.inbox), Box::new(question.clone()));
        self.resolver.look_up(question.name.clone(), move |found| {
            inbox.send(NetstackCommand::Resolved { key, question, found });
        })
    }

    /// Answers a query with the result of its lookup. If the name was resolved before, it keeps its first addresses.
    pub(super) fn resolved(
        &mut self,
        key: FlowKey,
        question: &DnsQuestion,
        found: DnsLookupResult,
        now: Instant,
    ) {
        let reply = match (self.names.pinned(&question.name), found) {
            (Some(addresses), _) => DnsReply::Addresses(addresses.to_vec()),
            (None, Ok(found)) => self.pin(key, &question.name, &found),
            (None, Err(error)) => self.not_found(key, &error),
        };
        self.send_reply(key, question, &reply, now);
    }

    fn not_found(&mut self, key: FlowKey, error: &DnsLookupError) -> DnsReply {
        let (reason, reply) = match error {
            DnsLookupError::Host(reason) => (reason.as_str(), DnsReply::NoSuchName),
            DnsLookupError::Server => ("the name server did not answer", DnsReply::Failure),
        };
        if let Some(entry) = self.flows.get_mut(&key) {
            entry.meta.explain(reason);
        }
        reply
    }

    fn pin(&mut self, key: FlowKey, name: &str, found: &[IpAddr]) -> DnsReply {
        let mut allowed: Vec<IpAddr> = Vec::new();
        for address in found {
            let same_version = allowed.iter().filter(|other| other.is_ipv4() == address.is_ipv4()).count();
            let is_new = !allowed.contains(address) && same_version < MAX_ADDRESSES;
            if is_new && may_be_answered(&self.spec, *address) {
                allowed.push(*address);
            }
        }
        if allowed.is_empty() {
            if let Some(entry) = self.flows.get_mut(&key).filter(|_| !found.is_empty()) {
                entry.meta.record.verdict = FlowDisposition::Refused;
                entry
                    .meta
                    .explain("the name resolves to addresses that are not public, and no rule names them");
            }
            return DnsReply::NoSuchName;
        }
        if self.names.pin(name, &allowed) { DnsReply::Addresses(allowed) } else { DnsReply::Failure }
    }

    fn send_reply(&mut self, key: FlowKey, question: &DnsQuestion, reply: &DnsReply, now: Instant) {
        let Some(entry) = self.flows.get_mut(&key) else { return };
        let Some(answer) = question.answer(reply) else { return };
        entry.meta.record.into.bytes += answer.len() as u64;
        if let Some(packet) = reply::datagram(key.outer, key.inner, &answer) {
            self.air.send_packet_to_sandbox(key, &mut entry.meta, &packet, now);
        }
    }
}

/// Opens a socket to an address, and returns whether it is already connected.
fn open_socket(to: SocketAddr, is_stream: bool) -> Result<(OwnedFd, bool), Errno> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let kind = if is_stream { SocketType::STREAM } else { SocketType::DGRAM };
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    if is_stream {
        sockopt::set_tcp_nodelay(&socket, true)?;
    }
    match connect(&socket, &to) {
        Ok(()) => Ok((socket, true)),
        Err(Errno::INPROGRESS) => Ok((socket, false)),
        Err(error) => Err(error),
    }
}
