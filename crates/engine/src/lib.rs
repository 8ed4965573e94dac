//! Improvement cycles: causes, proposals, verification, the ledger and memory.

pub mod adaptation;
pub mod alignment;
pub mod budget;
pub mod causes;
pub mod cycle;
pub mod events;
pub mod ground;
mod judging;
pub mod ledger;
pub mod memory;
mod message;
pub mod proposal;
pub mod proposers;
pub mod scores;
pub mod secrets;
pub mod source;
mod syntax;
mod tracks;
pub mod transforms;
pub mod tree;
pub mod verify;
pub mod workbench;
