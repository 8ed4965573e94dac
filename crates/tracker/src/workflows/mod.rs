//! Dependencies between workflows, and discrepancies between the records of a repository.

mod discrepancies;
mod graph;

pub use discrepancies::{Discrepancy, Known, discrepancies};
pub use graph::{GraphError, Impact, WorkflowGraph};
