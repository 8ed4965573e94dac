//! The netstack: the user-space network of a sandbox, in which every packet of the sandbox is terminated.
//!
//! Policy, mocks and traffic shaping are specified by one
//! [`NetworkSpec`](menace_model::network::NetworkSpec); the observed flows are returned as a
//! [`NetworkReport`](menace_model::network::NetworkReport).

mod addresses;
mod check;
mod dns;
mod fate;
mod mock;
mod names;
mod packet;
mod policy;
mod queue;
mod reply;
mod resolve;
mod stack;

pub use addresses::{GATEWAY_V4, GATEWAY_V6, LONGEST_PACKET, SANDBOX_V4, SANDBOX_V6};
pub use check::check;
pub use mock::{Authority, MockError, prepare};
pub use stack::Network;
