//! Record of the traffic of a network.

use serde::{Deserialize, Serialize};

/// All recorded traffic of a network.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkReport {
    /// Flows by start time.
    pub flows: Vec<FlowRecord>,
    /// Number of flows that were not recorded, because there were too many.
    pub flows_left_out: u64,
}

/// One TCP, UDP or ICMP conversation with one destination, or one DNS query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowRecord {
    /// Start, in milliseconds since the creation of the network.
    pub at_ms: f64,
    /// Its protocol.
    pub protocol: FlowProtocol,
    /// Address and port, or the queried name.
    pub destination: String,
    /// Name that was resolved to the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Decision of the network policy.
    pub verdict: FlowDisposition,
    /// Reason of a refusal, or of an abnormal end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Time from the first packet of the sandbox to the first byte of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<f64>,
    /// Duration of a finished flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// Traffic sent by the sandbox.
    pub out: DirectionCounts,
    /// Traffic received by the sandbox.
    #[serde(rename = "in")]
    pub into: DirectionCounts,
    /// Requests to a mock and their responses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<FlowRequest>,
    /// Number of answered requests that were not recorded, because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests_left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "signature required by serde")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Traffic in one direction, counted at the sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionCounts {
    /// Payload bytes that passed the netstack: of those sent by the sandbox, those that arrived.
    pub bytes: u64,
    /// Packets that were sent.
    pub packets: u64,
    /// Packets of these that were dropped by a fault.
    pub lost: u64,
    /// Packets that were delayed by a fault.
    pub delayed: u64,
    /// Packets that were duplicated by a fault.
    pub duplicated: u64,
    /// Packets that were reordered by a fault.
    pub reordered: u64,
}

/// Protocol of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowProtocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// ICMP.
    Icmp,
    /// DNS queries.
    Dns,
    /// Anything else.
    Other,
}

/// Decision of the network policy about a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowDisposition {
    /// None of its packets arrived.
    #[default]
    Lost,
    /// Refused immediately.
    Refused,
    /// Forwarded to the real destination.
    Allowed,
    /// Answered by a mock.
    Mocked,
    /// Dropped, because its destination is partitioned off.
    Partitioned,
}

/// A request to a mock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowRequest {
    /// Its method.
    pub method: String,
    /// Host named in the request.
    pub host: String,
    /// Its path and query.
    pub path: String,
    /// Status of the response, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Index of the rule that matched, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<usize>,
    /// Injected fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<super::MockFault>,
    /// Number of response fields changed by schema drift.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drifted: u64,
}
