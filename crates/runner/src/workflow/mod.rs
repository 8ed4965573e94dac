//! Workflows: several sections in sequence that share the state of one process.

mod cell;
mod fixtures;
mod simulation;

pub use cell::{StepTelemetry, WorkflowCell};
pub use fixtures::WorkflowFixtures;
pub use simulation::{WorkflowError, WorkflowMode, WorkflowSimulation};
