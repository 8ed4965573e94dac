//! Improvement cycles: causes, proposals, verification, the ledger and memory.

pub mod adaptation;
pub mod alignment;
pub mod baseline;
pub mod budget;
pub mod causes;
mod commit_message;
pub mod cycle;
pub mod editable_source;
pub mod events;
pub mod ledger;
pub mod memory;
pub mod proposal;
mod proposal_decision;
pub mod proposers;
pub mod scores;
pub mod secrets;
mod syntax;
mod track_records;
pub mod transforms;
pub mod verify;
pub mod workbench;
pub mod worktree;
