//! Workflows: ordered lists of sections, run together, alone, under scenarios and along a trajectory.

mod foresight;
mod impact;
mod run_context;
mod scenarios;
mod synergy;
mod workflow_runs;

use std::path::PathBuf;
use std::time::Duration;

pub use impact::{WorkflowImpactRequest, impact};
pub use scenarios::{
    ScenarioReport, TrajectoryReport, TrajectoryStageRow, WorkflowScenarioRow, run_scenarios,
    simulate_trajectory,
};
pub use synergy::WorkflowMetricValues;
pub use workflow_runs::{WorkflowRow, run};

/// Request to run a workflow.
#[derive(Debug, Clone, Default)]
pub struct WorkflowRequest {
    /// Name or id of a stored workflow, or sections separated by commas.
    pub workflow: String,
    /// The repository; `None` for the one in the settings.
    pub repository: Option<PathBuf>,
    /// Number of runs per scenario.
    pub times: usize,
    /// Seed of every random choice.
    pub seed: u64,
    /// Timeout of one run.
    pub timeout: Duration,
    /// Python interpreter.
    pub python: Option<String>,
    /// Files for every step, by name.
    pub files: Vec<(String, String)>,
    /// Environment variables for every step.
    pub variables: Vec<(String, String)>,
    /// File of fixtures by module.
    pub fixtures: Option<PathBuf>,
    /// Whether every attempt to use the network raises `RuntimeError`.
    pub safe_mode: bool,
    /// File of mock rules.
    pub network_mocks: Option<PathBuf>,
}

/// Workflows to run.
#[derive(Debug, Clone, Default)]
pub struct WorkflowsRequest {
    /// The workflow; `None` for all that are stored.
    pub workflow: Option<String>,
    /// Whether workflows are built from the module groups.
    pub dynamic_workflows: bool,
    /// Scenarios in addition to `normal`; `all` for all of them.
    pub scenarios: Vec<String>,
    /// Options of the runs; `workflow` is ignored.
    pub common: WorkflowRequest,
}
