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
        /// Its name
        name: String,
        /// Sections such as shop.cart:add, in order
        #[arg(required = true, value_name = "MODULE:FUNCTION")]
        steps: Vec<String>,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// List the workflows that are stored
    List {
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Show the steps of a workflow
    Show {
        /// Its name or its number
        name: String,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Remove a workflow
    Rm {
        /// Its name or its number
        name: String,
    },
    /// Run one workflow, or all of them and all together (all_workflows), with what each step takes and does
    Run(WorkflowsRunArguments),
    /// What a change of a stored workflow does to those that share modules with it
    Impact(WorkflowsImpactArguments),
}

#[derive(Debug, Args)]
pub(crate) struct WorkflowsImpactArguments {
    /// Its name
    pub(crate) workflow: String,
    #[command(flatten)]
    pub(crate) repository: RepositoryArguments,
    /// By how much its ROI changes
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) roi: f64,
    /// By how much its synergy changes
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    pub(crate) synergy: f64,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

/// Which workflows to run.
#[derive(Debug, Args)]
pub(crate) struct WorkflowsRunArguments {
    /// A name, a number, or module:function; without it all that are stored
    pub(crate) workflow: Option<String>,
    /// Build workflows from the groups of modules instead
    #[arg(long)]
    pub(crate) dynamic_workflows: bool,
    /// Also make them under this scenario, together and alone; can be repeated
    #[arg(long = "scenario", value_name = "NAME", value_parser = SYNERGY_SCENARIOS)]
    pub(crate) scenarios: Vec<String>,
    #[command(flatten)]
    pub(crate) common: WorkflowOptions,
}

/// What workflows are made under for their synergy, beside ordinary circumstances.
const SYNERGY_SCENARIOS: [&str; 6] =
    ["all", "concurrency_spike", "hostile_input", "schema_drift", "flaky_upstream", "user_misuse"];

/// A workflow and how it is run.
#[derive(Debug, Args)]
pub(crate) struct WorkflowStressArguments {
    /// A name, a number, or sections such as shop.cart:checkout, separated by commas
    pub(crate) workflow: String,
    #[command(flatten)]
    pub(crate) common: WorkflowOptions,
}

/// How workflows are run.
#[derive(Debug, Args)]
pub(crate) struct WorkflowOptions {
    /// The repository; without it SANDBOX_REPO_PATH, else the working directory
    #[arg(long, value_name = "PATH")]
    pub(crate) repo: Option<PathBuf>,
    /// How often a workflow is made in each scenario
    #[arg(long, default_value_t = 20)]
    pub(crate) times: usize,
    /// What all chance comes from
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// How long one time may take, such as 5s or 500ms
    #[arg(long, default_value = "10s", value_parser = sandbox::duration)]
    pub(crate) timeout: std::time::Duration,
    /// The interpreter; without it that of the repository, else python3
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<String>,
    /// A file that every step finds, as NAME=TEXT; can be repeated
    #[arg(long = "file", value_name = "NAME=TEXT", value_parser = pair)]
    pub(crate) files: Vec<(String, String)>,
    /// A variable that every step finds, as NAME=VALUE; can be repeated
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) variables: Vec<(String, String)>,
    /// What the steps of each module find, as JSON: {"module": {"files": {…}, "env": {…}}}
    #[arg(long, value_name = "FILE")]
    pub(crate) fixtures: Option<PathBuf>,
    /// An attempt to reach the network raises RuntimeError
    #[arg(long)]
    pub(crate) safe_mode: bool,
    /// Rules that answer requests to others, as for menace sandbox run --net mock=FILE; with --safe-mode everything
    /// else is refused
    #[arg(long, value_name = "FILE")]
    pub(crate) network_mocks: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
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
