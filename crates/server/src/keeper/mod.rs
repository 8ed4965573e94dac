//! The process that holds sandboxes, and how others reach it.

mod hold;
mod place;
mod reach;

pub use hold::{Holding, hold};
pub use place::Place;
pub use reach::{Keeper, KeeperError};
