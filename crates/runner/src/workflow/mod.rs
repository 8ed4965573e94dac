//! Workflows: several sections in sequence that share the state of one process.

mod cell;
mod fixtures;
mod simulate;

pub use cell::{StepTelemetry, WorkflowCell};
pub use fixtures::Fixtures;
pub use simulate::{Mode, Simulation, WorkflowError};
