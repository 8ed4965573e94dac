//! The sandbox daemon: its main loop, its endpoint, and the client that connects to it.

mod connector;
mod endpoint;
mod main_loop;

pub use connector::{DaemonConnectError, DaemonConnector};
pub use endpoint::DaemonEndpoint;
pub use main_loop::{DaemonOptions, run_daemon};
