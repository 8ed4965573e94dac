//! Several sections together, in one process state.

mod cell;
mod fixtures;
mod simulate;

pub use cell::{StepTelemetry, WorkflowCell};
pub use fixtures::Fixtures;
pub use simulate::{Mode, Simulation, WorkflowError};
