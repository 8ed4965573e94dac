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

/// How a workflow is run.
#[derive(Debug, Clone, Default)]
pub struct WorkflowRequest {
    /// Name or id of a stored workflow, or sections separated by commas.
    pub workflow: String,
    /// The repository; `None` for that of the settings.
    pub repository: Option<PathBuf>,
    /// Number of times that it is run in each scenario.
    pub times: usize,
    /// Seed of every random choice.
    pub seed: u64,
    /// Timeout of one time.
    pub timeout: Duration,
    /// Python interpreter.
    pub python: Option<String>,
    /// Files that every step finds, by name.
    pub files: Vec<(String, String)>,
    /// Environment variables that every step finds.
    pub variables: Vec<(String, String)>,
    /// File of fixtures by module.
    pub fixtures: Option<PathBuf>,
    /// Whether every attempt to use the network raises `RuntimeError`.
    pub safe_mode: bool,
    /// File of rules that answer requests.
    pub network_mocks: Option<PathBuf>,
}

/// Workflows to run.
#[derive(Debug, Clone, Default)]
pub struct WorkflowsRequest {
    /// The workflow; `None` for all that are stored.
    pub workflow: Option<String>,
    /// Whether workflows are built from the module groups.
    pub dynamic_workflows: bool,
    /// Scenarios besides the ordinary one; `all` for all of them.
    pub scenarios: Vec<String>,
    /// How they are run; its own `workflow` is ignored.
    pub common: WorkflowRequest,
}
