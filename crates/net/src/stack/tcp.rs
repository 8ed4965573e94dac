//! One connection: a TCP of our own towards the sandbox, a socket towards whoever answers, and bytes between them.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use menace_model::network::Verdict;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State as TcpState};
use smoltcp::wire::{HardwareAddress, IpCidr};

use super::air::Air;
use super::clock::Clock;
use super::entry::{Key, Meta};
use super::patience::Patience;
use super::port::Port;
use super::spoken_name::{Spoken, spoken_name};
use crate::addresses::{LONGEST_PACKET, SHAPED_PACKET};

/// Bytes that are passed on before other connections have their turn.
const TURN: usize = 1 << 20;

pub(super) struct Tcp {
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    longest_packet: usize,
    /// Whoever answers.
    pub(super) upstream: Upstream,
    /// Names of which the program must say one before anything is passed on.
    names: Option<Vec<String>>,
    /// Whether the other end has said all.
    is_read_out: bool,
    /// Whether the other end knows that the sandbox has said all.
    is_shut_down: bool,
    patience: Patience,
    /// When it wants to be looked at.
    pub(super) timer: Option<Instant>,
    /// What it takes of all buffers.
    pub(super) buffered: usize,
}

/// The socket towards whoever answers.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) socket: OwnedFd,
    pub(super) token: u64,
    pub(super) can_read: bool,
    pub(super) can_write: bool,
    /// Set by a mock that wants the connection to be reset.
    pub(super) reset: Option<Arc<AtomicBool>>,
}

/// What is next for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Something has to happen first.
    Wait,
    /// It could go on, and others should have their turn before.
    More,
    /// The way to the sandbox is full.
    Full,
    /// It is over.
    Over,
}

impl Tcp {
    /// A connection that is answered as soon as it gets its first packet. `size` is that of each of its two buffers.
    pub(super) fn new(
        key: Key,
        (air, meta): (&mut Air, &mut Meta),
        upstream: Upstream,
        names: Option<Vec<String>>,
        size: usize,
        clock: &Clock,
        now: Instant,
    ) -> Self {
        let longest_packet = if air.is_shaped() { SHAPED_PACKET } else { usize::from(LONGEST_PACKET) };
        let mut port = Port { incoming: None, air, meta, key, now, longest_packet };
        let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut port, clock.at(now));
        // All others are in the network of this one address, so that there are no routes.
        interface.update_ip_addrs(|addresses| {
            let _ = addresses.push(IpCidr::new(key.outer.ip().into(), 0));
        });
        let mut socket = Socket::new(SocketBuffer::new(vec![0; size]), SocketBuffer::new(vec![0; size]));
        socket.set_nagle_enabled(false);
        socket.set_ack_delay(None);
        // It fails for the port 0, to which nobody connects.
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
            is_read_out: false,
            is_shut_down: false,
            patience: Patience::new(now),
            timer: None,
            buffered: 2 * size,
        }
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    /// Takes a packet of the sandbox.
    pub(super) fn take(
        &mut self,
        key: Key,
        (air, meta): (&mut Air, &mut Meta),
        packet: &[u8],
        clock: &Clock,
        now: Instant,
    ) {
        let longest_packet = self.longest_packet;
        let mut port = Port { incoming: Some(packet), air, meta, key, now, longest_packet };
        let at = clock.at(self.patience.clock(now));
        self.interface.poll_ingress_single(at, &mut port, &mut self.sockets);
    }

    /// Passes on what there is in both directions.
    pub(super) fn pump(
        &mut self,
        key: Key,
        (air, meta): (&mut Air, &mut Meta),
        clock: &Clock,
        now: Instant,
    ) -> Next {
        let mut left = TURN;
        let next = loop {
            let passed = self.pass_out(meta, &mut left) + self.pass_in(meta, &mut left);
            let emitted = self.emit(key, (air, meta), clock, now);
            if matches!(self.socket().state(), TcpState::Closed | TcpState::TimeWait) {
                break Next::Over;
            }
            if !air.has_room(now) {
                break Next::Full;
            }
            if left == 0 {
                break Next::More;
            }
            if passed == 0 && !emitted {
                break Next::Wait;
            }
        };
        self.timer = self.wait(key, (air, meta), clock, now);
        next
    }

    /// When there is something to do if nothing happens before. Where packets are lost, that is seldom when the library
    /// says.
    fn wait(
        &mut self,
        key: Key,
        (air, meta): (&mut Air, &mut Meta),
        clock: &Clock,
        now: Instant,
    ) -> Option<Instant> {
        let delay = self.delay(clock, now)?;
        if !air.is_shaped() {
            return Some(now + delay);
        }
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        let waiting = socket.send_queue();
        let acknowledged = meta.record.into.bytes.saturating_sub(waiting as u64);
        self.patience.see(acknowledged, waiting > 0 && delay > Duration::ZERO, now);
        let at = self.patience.ends_at(air.round_trip(now));
        if waiting == 0 || now + delay <= at {
            return Some(now + delay);
        }
        if now < at || !air.has_room(now) {
            return Some(at.max(now));
        }
        self.patience.put_forward(delay, now);
        self.emit(key, (air, meta), clock, now);
        self.delay(clock, now).map(|delay| now + delay.min(self.patience.ends_at(air.round_trip(now)) - now))
    }

    fn delay(&mut self, clock: &Clock, now: Instant) -> Option<Duration> {
        let delay = self.interface.poll_delay(clock.at(self.patience.clock(now)), &self.sockets)?;
        Some(Duration::from_micros(delay.total_micros()))
    }

    /// Ends it at once, as a broken connection.
    pub(super) fn abort(
        &mut self,
        key: Key,
        (air, meta): (&mut Air, &mut Meta),
        clock: &Clock,
        now: Instant,
    ) {
        self.socket().abort();
        self.emit(key, (air, meta), clock, now);
    }

    fn emit(&mut self, key: Key, (air, meta): (&mut Air, &mut Meta), clock: &Clock, now: Instant) -> bool {
        let longest_packet = self.longest_packet;
        let mut port = Port { incoming: None, air, meta, key, now, longest_packet };
        let mut emitted = false;
        let at = clock.at(self.patience.clock(now));
        while self.interface.poll_egress(at, &mut port, &mut self.sockets) == PollResult::SocketStateChanged {
            emitted = true;
        }
        emitted
    }

    /// What the sandbox says, to whoever answers.
    fn pass_out(&mut self, meta: &mut Meta, left: &mut usize) -> usize {
        if !self.may_speak(meta) {
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
        self.say_the_end();
        passed
    }

    /// The sandbox has said all, and all of it was passed on: the other end is told.
    fn say_the_end(&mut self) {
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        let has_ended = matches!(
            socket.state(),
            TcpState::CloseWait | TcpState::LastAck | TcpState::Closing | TcpState::TimeWait
        );
        if has_ended && !socket.can_recv() && !self.is_shut_down {
            self.is_shut_down = true;
            // Whoever has closed already does not need to know.
            let _ = shutdown(&self.upstream.socket, Shutdown::Write);
        }
    }

    /// Whether the name that the program says itself, if it must say one, is allowed.
    fn may_speak(&mut self, meta: &mut Meta) -> bool {
        let Some(names) = &self.names else { return true };
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        let capacity = socket.recv_capacity();
        let Ok(said) = socket.peek(capacity) else { return true };
        let problem = match spoken_name(said) {
            Spoken::NotYet if said.len() < capacity => return false,
            Spoken::Nothing => None,
            Spoken::Name(name) if names.contains(&name) => None,
            Spoken::Name(name) => {
                Some(format!("it says it wants {name}, which is not what was allowed here"))
            }
            Spoken::NoName | Spoken::NotYet => Some("it does not say which name it wants".to_owned()),
        };
        match problem {
            None => self.names = None,
            Some(problem) => {
                meta.explain(&problem);
                meta.record.verdict = Verdict::Refused;
                socket.abort();
            }
        }
        self.names.is_none()
    }

    /// What whoever answers says, to the sandbox.
    fn pass_in(&mut self, meta: &mut Meta, left: &mut usize) -> usize {
        let mut passed = 0;
        while self.upstream.can_read
            && !self.is_read_out
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
                Ok(Ok(0)) => self.end_of_answer(meta),
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

    fn end_of_answer(&mut self, meta: &mut Meta) {
        self.is_read_out = true;
        let is_reset = self.upstream.reset.as_ref().is_some_and(|reset| reset.load(Ordering::Acquire));
        if is_reset {
            meta.explain("reset by a mock");
            self.socket().abort();
        } else {
            self.socket().close();
        }
    }

    fn fail(&mut self, meta: &mut Meta, error: Errno) {
        self.is_read_out = true;
        meta.explain(&format!("the other end broke it off: {error}"));
        self.socket().abort();
    }
}

impl fmt::Debug for Tcp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tcp").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}
