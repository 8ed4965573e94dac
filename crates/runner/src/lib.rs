//! Calls of every section of a repository: what they are given, under which scenario, and what came of them.

mod chance;
mod describe;
mod execute;
mod judge;
mod minimise;
mod owners;
mod plan;
mod report;
mod run;
mod scenario;
mod shrink;
mod statistics;
mod stubs;
mod target;

pub use chance::Chance;
pub use describe::describe;
pub use execute::Execute;
pub use judge::{Verdict, judge};
pub use owners::{Owners, find_owners};
pub use plan::{Plan, PlannedCall, plan};
pub use report::{Cell, Failure, HarnessError, RunReport};
pub use run::{CallOutcome, Progress, RunOptions, run};
pub use scenario::Scenario;
pub use statistics::wilson;
pub use stubs::{Constructors, Strategy, Stub, stub};
pub use target::{Target, roots, targets};
