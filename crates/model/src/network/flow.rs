//! What was seen on a network.

use serde::{Deserialize, Serialize};

/// Everything that was seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkReport {
    /// Flows in the order in which they began.
    pub flows: Vec<Flow>,
    /// Flows that were seen and not kept, because there were too many.
    pub flows_left_out: u64,
}

/// One conversation with one destination, or one question for a name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// When it began, in milliseconds since the network was made.
    pub at_ms: f64,
    /// What was spoken.
    pub protocol: Protocol,
    /// Where to: an address with its port, or the name that was asked for.
    pub destination: String,
    /// The name that was looked up before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What was done with it.
    pub verdict: Verdict,
    /// Why it was refused, or how it ended if not well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// From the first packet of the sandbox to the first byte that came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<f64>,
    /// How long it lasted, if it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// What the sandbox sent.
    pub out: DirectionCounts,
    /// What it was sent.
    #[serde(rename = "in")]
    pub into: DirectionCounts,
    /// What was asked of a mock, and what it answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<FlowRequest>,
    /// Requests that were answered and not kept, because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests_left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What passed in one direction, counted at the sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionCounts {
    /// Bytes without headers that passed menace: of those that the sandbox sent, those that arrived.
    pub bytes: u64,
    /// Packets that were sent.
    pub packets: u64,
    /// Of these, those that were lost on purpose.
    pub lost: u64,
    /// Those that took longer on purpose.
    pub delayed: u64,
    /// Those that arrived twice on purpose.
    pub duplicated: u64,
    /// Those that overtook others on purpose.
    pub reordered: u64,
}

/// What was spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Streams.
    #[default]
    Tcp,
    /// Datagrams.
    Udp,
    /// Messages about the network itself.
    Icmp,
    /// Questions for names.
    Dns,
    /// Anything else.
    Other,
}

/// What was done with a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// None of its packets has arrived anywhere.
    #[default]
    Lost,
    /// Refused at once.
    Refused,
    /// Passed on to the world.
    Allowed,
    /// Answered by menace.
    Mocked,
    /// Lost, because its destination is partitioned off.
    Partitioned,
}

/// A request to a mock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowRequest {
    /// Its method.
    pub method: String,
    /// The host it was for, as it said.
    pub host: String,
    /// Its path and query.
    pub path: String,
    /// The status of the answer, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The number of the rule that fitted, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<usize>,
    /// What was made to go wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<super::MockFault>,
    /// Fields of the answer that were changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drifted: u64,
}
