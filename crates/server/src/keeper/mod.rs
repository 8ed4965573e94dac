//! The sandbox daemon: its main loop, its endpoint, and the client that connects to it.

mod hold;
mod place;
mod reach;

pub use hold::{Holding, hold};
pub use place::Place;
pub use reach::{Keeper, KeeperError};
