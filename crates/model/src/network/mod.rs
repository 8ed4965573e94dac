//! The network of a sandbox: what it can reach, how bad the way there is, who answers, and what was seen.

mod destination;
mod flow;
mod link;
mod mock;
mod text;

pub use destination::{Destination, DestinationError, HostPattern};
pub use flow::{DirectionCounts, Flow, FlowRequest, NetworkReport, Protocol, Verdict};
pub use link::{Distribution, Link, Shape, Shaper, Window};
pub use mock::{Answer, Fallback, MockFault, MockRule, Mocks};

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The name by which programs in a sandbox reach the loopback of the host, as far as that is allowed.
pub const HOST_NAME: &str = "host.menace.internal";

/// What a sandbox can reach.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Its own loopback and nothing else. Nothing is recorded.
    #[default]
    None,
    /// A network of its own that ends in menace, where every packet is seen.
    Managed(Box<NetworkSpec>),
}

/// A network that ends in menace. What is neither mocked nor allowed is refused at once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkSpec {
    /// What can be reached.
    pub allow: Vec<Destination>,
    /// Who answers instead of the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mocks: Option<Mocks>,
    /// What happens to packets.
    pub shape: Shape,
    /// Who does it to those that leave the sandbox.
    pub shaper: Shaper,
    /// Where chance begins.
    pub seed: u64,
    /// The name server to ask; without it names are looked up as the host does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolver: Option<SocketAddr>,
}
