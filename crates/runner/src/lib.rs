//! Calls every section of a repository: generates inputs, applies stress profiles, executes the calls and classifies
//! their outcomes.

mod call;
mod call_environment;
mod callable_section;
mod cell_usage;
mod classify;
mod coverage;
mod describe;
mod early_reruns;
mod executor;
mod network_recovery;
mod object_recipes;
mod outcome;
mod plan;
mod random_stream;
mod regression_test;
mod report;
mod rerun;
mod run;
mod scheduler;
mod self_test;
mod shrink_search;
mod smaller_inputs;
mod statistics;
mod stress;
mod stubs;
mod workflow;

pub use call::Call;
pub use callable_section::{CallableSection, callable_sections, roots};
pub use cell_usage::CellUsage;
pub use classify::classify;
pub use coverage::ModuleCoverage;
pub use describe::describe;
pub use executor::{BatchFuture, CallExecutor};
pub use network_recovery::NetworkRecovery;
pub use object_recipes::{ObjectRecipes, find_object_recipes};
pub use outcome::{CallClassification, CallMeasurements, CallOutcome};
pub use plan::{CallPlan, CallPurpose, PlanInputs, PlannedCall, PlannedPreset, plan};
pub use random_stream::RandomStream;
pub use regression_test::{regression_test_of, test_of};
pub use report::{DistinctFailure, HarnessError, RunReport, SectionCell};
pub use run::{
    CallJournal, JournalFuture, RecordedCall, RunContext, RunEnd, RunError, RunObserver, RunOptions, run,
};
pub use scheduler::CallScheduler;
pub use self_test::{
    JunitError, TestCase, TestCounts, TestFileOptions, TestFileOutcome, TestOutcome, read_junit,
    run_test_files,
};
pub use statistics::wilson;
pub use stress::{BurstSize, CallsPerCell, FaultEvidence, StressProfile, UpstreamFault};
pub use stubs::{ArgumentSource, ConstructorSections, GivenStub, InputStrategy, Stub, stub};
pub use workflow::{
    StepTelemetry, WorkflowCell, WorkflowError, WorkflowFixtures, WorkflowMode, WorkflowSimulation,
};
