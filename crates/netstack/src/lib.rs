//! The netstack: the user-space network of a sandbox, in which every packet of the sandbox is terminated.
//!
//! Policy, mocks and traffic shaping are specified by one
//! [`NetworkSpec`](menace_model::network::NetworkSpec); the observed flows are returned as a
//! [`NetworkReport`](menace_model::network::NetworkReport).

mod addresses;
mod dns;
mod dns_names;
mod mock;
mod packet;
mod packet_fate;
mod packet_queue;
mod policy;
mod reply;
mod resolver;
mod stack;
mod validation;

pub use addresses::{GATEWAY_V4, GATEWAY_V6, LONGEST_PACKET, SANDBOX_V4, SANDBOX_V6};
pub use mock::{MockCertificateAuthority, MockError, prepare};
pub use stack::Netstack;
pub use validation::{NetworkSpecError, check};
