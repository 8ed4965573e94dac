//! Arguments of the commands that run workflows.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use menace_app::workflows::{WorkflowRequest, WorkflowsRequest};

use super::sandbox;
use super::{JsonOutput, RepositoryArguments};

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowsCommand {
    /// Store a workflow
    Add {
        /// Name of the workflow
        name: String,
        /// Sections to call, in order, such as shop.cart:add
        #[arg(required = true, value_name = "MODULE:FUNCTION")]
        steps: Vec<String>,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// List stored workflows
    List {
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Show the steps of a workflow
    Show {
        /// Name or id of the workflow
        name: String,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Remove a workflow
    Rm {
        /// Name or id of the workflow
        name: String,
    },
    /// Run one workflow, or each stored one and all together (all_workflows), and show time and result of each step
    Run(WorkflowsRunArguments),
    /// Estimate how a change of a stored workflow affects those that share modules with it
    Impact(WorkflowsImpactArguments),
}

#[derive(Debug, Args)]
pub(crate) struct WorkflowsImpactArguments {
    /// Name of the workflow
    pub(crate) workflow: String,
    #[command(flatten)]
    pub(crate) repository: RepositoryArguments,
    /// Change of its ROI
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) roi: f64,
    /// Change of its synergy
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    pub(crate) synergy: f64,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

/// Options of `menace workflows run`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowsRunArguments {
    /// Workflow: a name, an id, or module:function [default: all stored workflows]
    pub(crate) workflow: Option<String>,
    /// Build workflows from module groups instead of using stored ones
    #[arg(long)]
    pub(crate) dynamic_workflows: bool,
    /// Also measure synergy under this scenario; can be repeated
    #[arg(long = "scenario", value_name = "NAME", value_parser = SYNERGY_SCENARIOS)]
    pub(crate) scenarios: Vec<String>,
    #[command(flatten)]
    pub(crate) common: WorkflowOptions,
}

/// Scenarios under which synergy can be measured, besides normal conditions.
const SYNERGY_SCENARIOS: [&str; 6] =
    ["all", "concurrency_spike", "hostile_input", "schema_drift", "flaky_upstream", "user_misuse"];

/// Options of `menace run-scenarios` and `menace simulate-temporal-trajectory`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowStressArguments {
    /// Workflow: a name, an id, or sections such as shop.cart:checkout, separated by commas
    pub(crate) workflow: String,
    #[command(flatten)]
    pub(crate) common: WorkflowOptions,
}

/// Options of the commands that run workflows.
#[derive(Debug, Args)]
pub(crate) struct WorkflowOptions {
    /// Repository [default: SANDBOX_REPO_PATH, else the working directory]
    #[arg(long, value_name = "PATH")]
    pub(crate) repo: Option<PathBuf>,
    /// Number of repetitions of the workflow in each scenario
    #[arg(long, default_value_t = 20)]
    pub(crate) times: usize,
    /// Seed of every random choice
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Time limit of one repetition, such as 5s or 500ms
    #[arg(long, default_value = "10s", value_parser = sandbox::duration)]
    pub(crate) timeout: std::time::Duration,
    /// Python interpreter [default: the one of the repository, else python3]
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<String>,
    /// File that every step can read, as NAME=TEXT; can be repeated
    #[arg(long = "file", value_name = "NAME=TEXT", value_parser = pair)]
    pub(crate) files: Vec<(String, String)>,
    /// Environment variable of every step, as NAME=VALUE; can be repeated
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) variables: Vec<(String, String)>,
    /// JSON file with files and variables for the steps of each module: {"module": {"files": {…}, "env": {…}}}
    #[arg(long, value_name = "FILE")]
    pub(crate) fixtures: Option<PathBuf>,
    /// Raise RuntimeError on every attempt to reach the network
    #[arg(long)]
    pub(crate) safe_mode: bool,
    /// File with rules that answer network requests, as for menace sandbox run --net mock=FILE; with --safe-mode all
    /// other requests are refused
    #[arg(long, value_name = "FILE")]
    pub(crate) network_mocks: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl WorkflowOptions {
    /// The workflow with these options.
    pub(crate) fn request(&self, workflow: &str) -> WorkflowRequest {
        WorkflowRequest {
            workflow: workflow.to_owned(),
            repository: self.repo.clone(),
            times: self.times,
            seed: self.seed,
            timeout: self.timeout,
            python: self.python.clone(),
            files: self.files.clone(),
            variables: self.variables.clone(),
            fixtures: self.fixtures.clone(),
            safe_mode: self.safe_mode,
            network_mocks: self.network_mocks.clone(),
        }
    }
}

impl WorkflowsRunArguments {
    /// The workflows that these arguments request.
    pub(crate) fn request(&self) -> WorkflowsRequest {
        WorkflowsRequest {
            workflow: self.workflow.clone(),
            dynamic_workflows: self.dynamic_workflows,
            scenarios: self.scenarios.clone(),
            common: self.common.request(""),
        }
    }
}
