//! One flow: its record and its state.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Instant;

use menace_model::network::{Flow, Protocol};

use super::tcp::Tcp;
use crate::fate::Chance;

/// Identity of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(super) protocol: Protocol,
    /// Address in the sandbox.
    pub(super) inner: SocketAddr,
    /// Destination.
    pub(super) outer: SocketAddr,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) meta: Meta,
    pub(super) state: State,
}

/// Record of a flow, and the state of its two directions.
#[derive(Debug)]
pub(super) struct Meta {
    pub(super) record: Flow,
    pub(super) began: Instant,
    /// Time of its last packet.
    pub(super) seen: Instant,
    pub(super) out: Direction,
    pub(super) into: Direction,
}

#[derive(Debug)]
pub(super) struct Direction {
    pub(super) chance: Chance,
    /// Number of packets so far.
    pub(super) number: u64,
    /// Arrival time of the last packet that was not reordered.
    pub(super) last: Option<Instant>,
}

#[derive(Debug)]
pub(super) enum State {
    /// No packet has arrived yet, so that the policy was not applied.
    New,
    /// The destination has not accepted the connection yet.
    Connecting(Box<Connecting>),
    Tcp(Box<Tcp>),
    /// Datagrams are forwarded through this socket.
    Udp {
        socket: OwnedFd,
        token: u64,
    },
    /// The netstack itself answers: DNS and echo requests.
    Answered,
}

/// Connection that the destination has not accepted yet.
#[derive(Debug)]
pub(super) struct Connecting {
    pub(super) socket: OwnedFd,
    pub(super) token: u64,
    /// SYN packet of the sandbox, answered when the destination has accepted.
    pub(super) syn: Vec<u8>,
    /// Allowed names: the TLS `ClientHello` must contain one of them.
    pub(super) names: Option<Vec<String>>,
}

impl Direction {
    pub(super) fn new(chance: Chance) -> Self {
        Self { chance, number: 0, last: None }
    }
}

impl Meta {
    /// Records the reason why the flow ended, unless there is one already.
    pub(super) fn explain(&mut self, reason: &str) {
        self.record.reason.get_or_insert_with(|| reason.to_owned());
    }

    /// Record with its final duration.
    pub(super) fn finished(mut self) -> Flow {
        self.record.duration_ms = Some(milliseconds(self.began.elapsed()));
        self.record
    }
}

pub(super) fn milliseconds(duration: std::time::Duration) -> f64 {
    // The resolution is a microsecond.
    duration.as_micros() as f64 / 1e3
}
