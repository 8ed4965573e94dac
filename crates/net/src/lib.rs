//! The network of a sandbox, in user space: every packet ends here.
//!
//! What a sandbox may reach, who answers instead of the world, and what happens to packets on their way is one
//! [`NetworkSpec`](menace_model::network::NetworkSpec); what was seen is a
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
