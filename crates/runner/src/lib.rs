//! Calls every section of a repository: generates inputs, applies stress profiles, executes the calls and classifies
//! their outcomes.

mod again;
mod call;
mod chance;
mod circumstances;
mod coverage;
mod describe;
mod emit;
mod execute;
mod judge;
mod minimise;
mod outcome;
mod owners;
mod plan;
mod recovery;
mod repetitions;
mod report;
mod run;
mod self_test;
mod shrink;
mod some;
mod statistics;
mod stubs;
mod target;
mod usage;
mod workflow;
mod world;

pub use call::Call;
pub use chance::Chance;
pub use circumstances::{Burst, Circumstances, Counts, Proof, Upstream};
pub use coverage::ModuleCoverage;
pub use describe::describe;
pub use emit::{regression_test_of, test_of};
pub use execute::{Execute, Outcomes};
pub use judge::judge;
pub use minimise::outcome_of;
pub use outcome::{CallOutcome, Measures, Verdict};
pub use owners::{Owners, find_owners};
pub use plan::{Plan, PlannedCall, PlannedPreset, Planning, Purpose, plan};
pub use recovery::Recovery;
pub use report::{Cell, Failure, HarnessError, RunReport};
pub use run::{Ledger, Progress, Recorded, RunEnd, RunError, RunOptions, Surroundings, Written, run};
pub use self_test::{
    JunitError, SuiteOptions, SuiteOutcome, TestCase, TestCounts, TestKind, read_junit, run_test_files,
};
pub use some::make_calls;
pub use statistics::wilson;
pub use stubs::{Constructors, GivenStub, Source, Strategy, Stub, stub};
pub use target::{Target, roots, targets};
pub use usage::CellUsage;
pub use workflow::{Fixtures, Mode, Simulation, StepTelemetry, WorkflowCell, WorkflowError};
