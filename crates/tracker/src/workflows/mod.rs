//! Dependencies between workflows, and discrepancies between the records of a repository.

mod discrepancies;
mod graph;

pub use discrepancies::{ComparedRecords, Discrepancy, discrepancies};
pub use graph::{WorkflowGraph, WorkflowGraphError, WorkflowImpact};
