//! One connection: a TCP endpoint towards the sandbox, a socket towards the destination or mock, and the bytes between
//! them.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use menace_model::network::FlowDisposition;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State as TcpState};
use smoltcp::wire::{HardwareAddress, IpCidr};

use super::clock::SmoltcpClock;
use super::device::ConnectionDevice;
use super::flow_entry::{FlowKey, FlowProgress};
use super::link::SimulatedLink;
use super::retransmission::RetransmissionTimer;
use super::server_name::{ServerNameResult, read_server_name};
use crate::addresses::{LONGEST_PACKET, SHAPED_PACKET};

/// Bytes that are forwarded before other connections are served.
const BYTES_PER_TURN: usize = 1 << 20;

pub(super) struct TcpConnection {
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    longest_packet: usize,
    /// Socket towards the destination or mock.
    pub(super) upstream: UpstreamSocket,
    /// Allowed names: the TLS `ClientHello` must contain one of them before any byte is forwarded.
    names: Option<Vec<String>>,
    /// Whether the upstream has closed its direction.
    has_upstream_ended: bool,
    /// Whether the upstream was told that the sandbox has closed its direction.
    is_shut_down: bool,
    retransmission: RetransmissionTimer,
    /// Time at which the connection has to be polled.
    pub(super) timer: Option<Instant>,
    /// Size of its buffers, in bytes.
    pub(super) buffered: usize,
}

/// Socket towards the destination or mock.
#[derive(Debug)]
pub(super) struct UpstreamSocket {
    pub(super) socket: OwnedFd,
    pub(super) token: u64,
    pub(super) can_read: bool,
    pub(super) can_write: bool,
    /// Set by a mock to have the connection reset.
    pub(super) reset: Option<Arc<AtomicBool>>,
}

/// State of a connection after it was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TcpTurnResult {
    /// Waits for an event.
    Wait,
    /// Has more to do, after other connections were served.
    More,
    /// Waits because the link to the sandbox is full.
    Full,
    /// Closed.
    Over,
}

impl TcpConnection {
    /// Creates a listening connection, which answers its first packet. `size` is the size of each of its two buffers.
    pub(super) fn new(
        key: FlowKey,
        (air, meta): (&mut SimulatedLink, &mut FlowProgress),
        upstream: UpstreamSocket,
        names: Option<Vec<String>>,
        size: usize,
        clock: &SmoltcpClock,
        now: Instant,
    ) -> Self {
        let longest_packet = if air.is_shaped() { SHAPED_PACKET } else { usize::from(LONGEST_PACKET) };
        let mut port = ConnectionDevice { incoming: None, air, meta, key, now, longest_packet };
        let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut port, clock.at(now));
        // The prefix length of 0 makes all addresses on-link, so that no routes are needed.
        interface.update_ip_addrs(|addresses| {
            let _ = addresses.push(IpCidr::new(key.outer.ip().into(), 0));
        });
        let mut socket = Socket::new(SocketBuffer::new(vec![0; size]), SocketBuffer::new(vec![0; size]));
        socket.set_nagle_enabled(false);
        socket.set_ack_delay(None);
        // It fails only for port 0, to which no program connects.
        let _ = socket.listen((key.outer.ip(), key.outer.port()));
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let handle = sockets.add(socket);
        Self {
            interface,
            sockets,
            handle,
            longest_packet,
            upstream,
            names,
            has_upstream_ended: false,
            is_shut_down: false,
            retransmission: RetransmissionTimer::new(now),
            timer: None,
            buffered: 2 * size,
        }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    /// Processes a packet of the sandbox.
    pub(super) fn take(
        &mut self,
        key: FlowKey,
        (air, meta): (&mut SimulatedLink, &mut FlowProgress),
        packet: &[u8],
        clock: &SmoltcpClock,
        now: Instant,
    ) {
        let longest_packet = self.longest_packet;
        let mut port = ConnectionDevice { incoming: Some(packet), air, meta, key, now, longest_packet };
        let at = clock.at(self.retransmission.clock(now));
        self.interface.poll_ingress_single(at, &mut port, &mut self.sockets);
    }

    /// Forwards the available bytes in both directions.
    pub(super) fn pump(
        &mut self,
        key: FlowKey,
        (air, meta): (&mut SimulatedLink, &mut FlowProgress),
        clock: &SmoltcpClock,
        now: Instant,
    ) -> TcpTurnResult {
        let mut left = BYTES_PER_TURN;
        let next = loop {
            let passed = self.forward_out(meta, &mut left) + self.forward_in(meta, &mut left);
            let emitted = self.emit(key, (air, meta), clock, now);
            if matches!(self.socket().state(), TcpState::Closed | TcpState::TimeWait) {
                break TcpTurnResult::Over;
            }
            if !air.has_room(now) {
                break TcpTurnResult::Full;
            }
            if left == 0 {
                break TcpTurnResult::More;
            }
            if passed == 0 && !emitted {
                break TcpTurnResult::Wait;
            }
        };
        self.timer = self.wait(key, (air, meta), clock, now);
        next
    }

    /// Time at which the connection has to be polled if no event occurs before. On a link with loss it is usually earlier
    /// than the library's.
    fn wait(
        &mut self,
        key: FlowKey,
        (air, meta): (&mut SimulatedLink, &mut FlowProgress),
        clock: &SmoltcpClock,
        now: Instant,
    ) -> Option<Instant> {
        let delay = self.delay(clock, now)?;
        if !air.is_shaped() {
            return Some(now + delay);
        }
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        let waiting = socket.send_queue();
        let acknowledged = meta.record.into.bytes.saturating_sub(waiting as u64);
        self.retransmission.update(acknowledged, waiting > 0 && delay > Duration::ZERO, now);
        let at = self.retransmission.retransmits_at(air.round_trip(now));
        if waiting == 0 || now + delay <= at {
            return Some(now + delay);
        }
        if now < at || !air.has_room(now) {
            return Some(at.max(now));
        }
        self.retransmission.advance_to_retransmission(delay, now);
        self.emit(key, (air, meta), clock, now);
        self.delay(clock, now)
            .map(|delay| now + delay.min(self.retransmission.retransmits_at(air.round_trip(now)) - now))
    }

    fn delay(&mut self, clock: &SmoltcpClock, now: Instant) -> Option<Duration> {
        let delay = self.interface.poll_delay(clock.at(self.retransmission.clock(now)), &self.sockets)?;
        Some(Duration::from_micros(delay.total_micros()))
    }

    /// Resets the connection immediately.
    pub(super) fn abort(
        &mut self,
        key: FlowKey,
        (air, meta): (&mut SimulatedLink, &mut FlowProgress),
        clock: &SmoltcpClock,
        now: Instant,
    ) {
        self.socket().abort();
        self.emit(key, (air, meta), clock, now);
    }

    fn emit(
        &mut self,
        key: FlowKey,
        (air, meta): (&mut SimulatedLink, &mut FlowProgress),
        clock: &SmoltcpClock,
        now: Instant,
    ) -> bool {
        let longest_packet = self.longest_packet;
        let mut port = ConnectionDevice { incoming: None, air, meta, key, now, longest_packet };
        let mut emitted = false;
        let at = clock.at(self.retransmission.clock(now));
        while self.interface.poll_egress(at, &mut port, &mut self.sockets) == PollResult::SocketStateChanged {
            emitted = true;
        }
        emitted
    }

    /// Forwards bytes of the sandbox to the upstream.
    fn forward_out(&mut self, meta: &mut FlowProgress, left: &mut usize) -> usize {
        if !self.may_forward(meta) {
            return 0;
        }
        let mut passed = 0;
        while self.upstream.can_write && *left > 0 && self.sockets.get_mut::<Socket>(self.handle).can_recv() {
            let socket = self.sockets.get_mut::<Socket>(self.handle);
            let upstream = &self.upstream.socket;
            let result =
                socket.recv(|bytes| match send(upstream, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                    Ok(sent) => (sent, Ok(sent)),
                    Err(error) => (0, Err(error)),
                });
            match result {
                Ok(Ok(sent)) => {
                    meta.record.out.bytes += sent as u64;
                    passed += sent;
                    *left = left.saturating_sub(sent);
                }
                Ok(Err(Errno::AGAIN | Errno::INTR)) => self.upstream.can_write = false,
                Ok(Err(error)) => {
                    self.fail(meta, error);
                    return passed;
                }
                Err(_) => break,
            }
        }
        self.shut_down_upstream();
        passed
    }

    /// Shuts down the upstream's write direction when the sandbox has closed its own and all bytes were forwarded.
    fn shut_down_upstream(&mut self) {
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        let has_ended = matches!(
            socket.state(),
            TcpState::CloseWait | TcpState::LastAck | TcpState::Closing | TcpState::TimeWait
        );
        if has_ended && !socket.can_recv() && !self.is_shut_down {
            self.is_shut_down = true;
            // It fails if the upstream has already closed.
            let _ = shutdown(&self.upstream.socket, Shutdown::Write);
        }
    }

    /// Whether bytes may be forwarded: if names are required, the TLS `ClientHello` has to contain one of them.
    fn may_forward(&mut self, meta: &mut FlowProgress) -> bool {
        let Some(names) = &self.names else { return true };
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        let capacity = socket.recv_capacity();
        let Ok(sent_bytes) = socket.peek(capacity) else { return true };
        let problem = match read_server_name(sent_bytes) {
            ServerNameResult::NotYet if sent_bytes.len() < capacity => return false,
            ServerNameResult::Nothing => None,
            ServerNameResult::Name(name) if names.contains(&name) => None,
            ServerNameResult::Name(name) => {
                Some(format!("the TLS server name {name} is not allowed for this address"))
            }
            ServerNameResult::NoName | ServerNameResult::NotYet => {
                Some("the TLS handshake has no server name".to_owned())
            }
        };
        match problem {
            None => self.names = None,
            Some(problem) => {
                meta.explain(&problem);
                meta.record.verdict = FlowDisposition::Refused;
                socket.abort();
            }
        }
        self.names.is_none()
    }

    /// Forwards bytes of the upstream to the sandbox.
    fn forward_in(&mut self, meta: &mut FlowProgress, left: &mut usize) -> usize {
        let mut passed = 0;
        while self.upstream.can_read
            && !self.has_upstream_ended
            && *left > 0
            && self.sockets.get_mut::<Socket>(self.handle).can_send()
        {
            let socket = self.sockets.get_mut::<Socket>(self.handle);
            let upstream = &self.upstream.socket;
            let result = socket.send(|space| match recv(upstream, space, RecvFlags::DONTWAIT) {
                Ok((read, _)) => (read, Ok(read)),
                Err(error) => (0, Err(error)),
            });
            match result {
                Ok(Ok(0)) => self.handle_upstream_end(meta),
                Ok(Ok(read)) => {
                    meta.record.into.bytes += read as u64;
                    passed += read;
                    *left = left.saturating_sub(read);
                }
                Ok(Err(Errno::AGAIN | Errno::INTR)) => self.upstream.can_read = false,
                Ok(Err(error)) => {
                    self.fail(meta, error);
                    return passed;
                }
                Err(_) => break,
            }
        }
        passed
    }

    fn handle_upstream_end(&mut self, meta: &mut FlowProgress) {
        self.has_upstream_ended = true;
        let is_reset = self.upstream.reset.as_ref().is_some_and(|reset| reset.load(Ordering::Acquire));
        if is_reset {
            meta.explain("reset by a mock");
            self.socket().abort();
        } else {
            self.socket().close();
        }
    }

    fn fail(&mut self, meta: &mut FlowProgress, error: Errno) {
        self.has_upstream_ended = true;
        meta.explain(&format!("the connection to the destination failed: {error}"));
        self.socket().abort();
    }
}

impl fmt::Debug for TcpConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tcp").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}
