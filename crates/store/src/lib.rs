//! Persistent storage: runs, calls, outcomes, workflows, patches, memories, the audit trail. The only crate with SQL.
//!
//! The database is SQLite; only the code that opens the file depends on that.

pub mod audit;
mod calls;
mod database;
#[expect(unreachable_pub, reason = "SeaORM derives public items for them")]
mod entities;
mod error;
mod events;
mod memories;
#[cfg(test)]
mod memories_tests;
mod metrics;
mod migrations;
mod patches;
mod runs;
#[cfg(test)]
mod store_tests;
mod synergy_history;
mod workflows;

pub use calls::{CallFilter, CallRecord, CellCount};
pub use database::Store;
pub use error::StoreError;
pub use events::EventRecord;
pub use memories::{MemoryFilter, MemoryRecord, NewMemory};
pub use menace_model::patches::PatchState;
pub use metrics::MetricRecord;
pub use patches::PatchRecord;
pub use runs::{RunRecord, RunState};
pub use synergy_history::{SynergyHistory, SynergyRecord};
pub use workflows::WorkflowRecord;
