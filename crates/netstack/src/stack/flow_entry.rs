//! One flow: its record and its state.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Instant;

use menace_model::network::{FlowProtocol, FlowRecord};

use super::tcp::TcpConnection;
use crate::packet_fate::FlowSeed;

/// Identity of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FlowKey {
    pub(super) protocol: FlowProtocol,
    /// Address in the sandbox.
    pub(super) inner: SocketAddr,
    /// Destination.
    pub(super) outer: SocketAddr,
}

#[derive(Debug)]
pub(super) struct FlowEntry {
    pub(super) meta: FlowProgress,
    pub(super) state: FlowState,
}

/// Record of a flow, and the state of its two directions.
#[derive(Debug)]
pub(super) struct FlowProgress {
    pub(super) record: FlowRecord,
    pub(super) began: Instant,
    /// Time of its last packet.
    pub(super) seen: Instant,
    pub(super) out: DirectionProgress,
    pub(super) into: DirectionProgress,
}

#[derive(Debug)]
pub(super) struct DirectionProgress {
    pub(super) chance: FlowSeed,
    /// Number of packets so far.
    pub(super) number: u64,
    /// Arrival time of the last packet that was not reordered.
    pub(super) last: Option<Instant>,
}

#[derive(Debug)]
pub(super) enum FlowState {
    /// No packet has arrived yet, so that the policy was not applied.
    New,
    /// The destination has not accepted the connection yet.
    Connecting(Box<PendingConnection>),
    Tcp(Box<TcpConnection>),
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
pub(super) struct PendingConnection {
    pub(super) socket: OwnedFd,
    pub(super) token: u64,
    /// SYN packet of the sandbox, answered when the destination has accepted.
    pub(super) syn: Vec<u8>,
    /// Allowed names: the TLS `ClientHello` must contain one of them.
    pub(super) names: Option<Vec<String>>,
}

impl DirectionProgress {
    pub(super) fn new(chance: FlowSeed) -> Self {
        Self { chance, number: 0, last: None }
    }
}

impl FlowProgress {
    /// Records the reason why the flow ended, unless there is one already.
    pub(super) fn explain(&mut self, reason: &str) {
        self.record.reason.get_or_insert_with(|| reason.to_owned());
    }

    /// Record with its final duration.
    pub(super) fn finished(mut self) -> FlowRecord {
        self.record.duration_ms = Some(milliseconds(self.began.elapsed()));
        self.record
    }
}

pub(super) fn milliseconds(duration: std::time::Duration) -> f64 {
    // The resolution is a microsecond.
    duration.as_micros() as f64 / 1e3
}
