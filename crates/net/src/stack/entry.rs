//! One flow: what is known about it, and what state it is in.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Instant;

use menace_model::network::{Flow, Protocol};

use super::tcp::Tcp;
use crate::fate::Chance;

/// What packets of the same flow have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(super) protocol: Protocol,
    /// The end in the sandbox.
    pub(super) inner: SocketAddr,
    /// The end that it wants to reach.
    pub(super) outer: SocketAddr,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) meta: Meta,
    pub(super) state: State,
}

/// What is known about a flow.
#[derive(Debug)]
pub(super) struct Meta {
    pub(super) record: Flow,
    pub(super) began: Instant,
    /// When its last packet was seen.
    pub(super) seen: Instant,
    pub(super) out: Direction,
    pub(super) into: Direction,
}

#[derive(Debug)]
pub(super) struct Direction {
    pub(super) chance: Chance,
    /// Packets so far.
    pub(super) number: u64,
    /// When the last packet that did not overtake others arrives.
    pub(super) last: Option<Instant>,
}

#[derive(Debug)]
pub(super) enum State {
    /// No packet has got so far that anything was decided.
    New,
    /// The host that it wants to reach has not answered yet.
    Connecting(Box<Connecting>),
    Tcp(Box<Tcp>),
    /// Datagrams go through this socket.
    Udp {
        socket: OwnedFd,
        token: u64,
    },
    /// Menace itself answers: names and echoes.
    Answered,
}

/// A connection whose other end has not answered.
#[derive(Debug)]
pub(super) struct Connecting {
    pub(super) socket: OwnedFd,
    pub(super) token: u64,
    /// What the sandbox said, which is answered when the other end is there.
    pub(super) syn: Vec<u8>,
    /// Names of which the program must say one.
    pub(super) names: Option<Vec<String>>,
}

impl Direction {
    pub(super) fn new(chance: Chance) -> Self {
        Self { chance, number: 0, last: None }
    }
}

impl Meta {
    /// Says why it ended, unless that is said already.
    pub(super) fn explain(&mut self, reason: &str) {
        self.record.reason.get_or_insert_with(|| reason.to_owned());
    }

    /// The record, as it is now.
    pub(super) fn finished(mut self) -> Flow {
        self.record.duration_ms = Some(milliseconds(self.began.elapsed()));
        self.record
    }
}

pub(super) fn milliseconds(duration: std::time::Duration) -> f64 {
    // A thousandth of a millisecond is what the clock is good for.
    duration.as_micros() as f64 / 1e3
}
