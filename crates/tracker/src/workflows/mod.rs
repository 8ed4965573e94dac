//! Workflows beside each other: what a change of one does to others, and what does not fit together.

mod discrepancies;
mod graph;

pub use discrepancies::{Discrepancy, Known, discrepancies};
pub use graph::{GraphError, Impact, WorkflowGraph};
