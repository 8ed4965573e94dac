//! The network of a sandbox: policy, link conditions, mocks, and the record of its traffic.

mod destination;
mod duration_text;
mod flow;
mod link;
mod mock;

pub use destination::{DestinationError, HostPattern, NetworkDestination};
pub use flow::{DirectionCounts, FlowDisposition, FlowProtocol, FlowRecord, FlowRequest, NetworkReport};
pub use link::{DelayDistribution, FaultWindow, LinkConditions, NetworkConditions, PacketShaper};
pub use mock::{MockFallback, MockFault, MockResponse, MockRule, MockSpec};

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Host name by which programs in a sandbox reach the host's loopback, where the policy allows it.
pub const HOST_NAME: &str = "host.menace.internal";

/// Network of a sandbox.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Only its own loopback. Nothing is recorded.
    #[default]
    None,
    /// A network of its own whose every packet is handled by menace's netstack.
    Managed(Box<NetworkSpec>),
}

/// A network that is handled by menace's netstack. Destinations that are neither mocked nor allowed are refused
/// immediately.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkSpec {
    /// Allowed destinations.
    pub allow: Vec<NetworkDestination>,
    /// Mocks that answer instead of the real destinations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mocks: Option<MockSpec>,
    /// Delay, loss, rate and partitions of packets.
    pub shape: NetworkConditions,
    /// Component that shapes the packets leaving the sandbox.
    pub shaper: PacketShaper,
    /// Seed of every random choice.
    pub seed: u64,
    /// DNS server to query; `None` resolves names as the host does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolver: Option<SocketAddr>,
}
