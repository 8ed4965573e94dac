//! Workflows: several sections in sequence that share the state of one process.

mod cell;
mod simulation;

pub use cell::{StepTelemetry, WorkflowCell};
pub use menace_model::harness::WorkflowFixtures;
pub use simulation::{WorkflowError, WorkflowMode, WorkflowSimulation};
