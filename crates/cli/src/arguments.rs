//! The command line.
#![expect(clippy::doc_markdown, reason = "doc comments here are the help texts that users read")]

mod auto;
mod dashboard;
mod exporters;
mod memory;
mod network;
mod patches;
mod resources;
mod sandbox;
mod service;
mod tracking;
mod up;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use menace_analysis::map::Algorithm;

use crate::commands::Scope;
use crate::configuration::SettingFlags;
pub(crate) use auto::{Auto, RunComplete};
pub(crate) use dashboard::Dashboard;
pub(crate) use exporters::{AuditCommand, Recovery, SynergyExporter, SynergyTrainer};
pub(crate) use memory::{MemoryCommand, MemoryCompact, MemoryList, MemoryLog, MemorySearch};
pub(crate) use network::{NetworkArguments, Reach};
pub(crate) use patches::{PatchesCommand, PatchesList};
pub(crate) use resources::InstallAutopurge;
pub(crate) use sandbox::{Measure, SandboxAttach, SandboxBench, SandboxCommand, SandboxRun};
pub(crate) use service::{
    BackendChoice, Keep, KeysCommand, KeysCreate, McpArguments, SandboxCreate, SandboxExec, Serve,
    WhichSandbox,
};
pub(crate) use tracking::{
    Forecast, HistoryFile, RankScenarios, RankSynergy, RoiCommand, SynergyCommand, SynergyMetrics,
    TruthCommand,
};

pub(crate) use up::Up;

/// An autonomous sandbox for Python code.
#[derive(Debug, Parser)]
#[command(name = "menace", version, max_term_width = 110, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Remove what killed runs of menace left: processes, control groups, containers, volumes, overlays
    #[arg(long, conflicts_with = "purge_stale")]
    pub(crate) cleanup: bool,
    /// The same, but for sandboxes that the next server takes over and overlays that are not old; for every hour
    #[arg(long)]
    pub(crate) purge_stale: bool,
    /// With --cleanup or --purge-stale: print JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

impl Arguments {
    /// What is to be removed, if that is asked for.
    pub(crate) fn scope(&self) -> Option<Scope> {
        match (self.cleanup, self.purge_stale) {
            (true, _) => Some(Scope::All),
            (false, true) => Some(Scope::Stale),
            (false, false) => None,
        }
    }
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 found what it looks for (failures, missing capabilities), \
2 wrong usage, 3 the environment cannot do it, 4 interrupted (state saved), 70 our bug.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write .env with defaults (what is there stays) and create the data directory
    Init,
    /// Show what menace needs from this machine: present, missing, what for, how to get it
    Doctor(JsonOutput),
    /// Show every setting, its value and where it came from
    Config {
        /// Show only settings whose variable, flag or help contains this
        pattern: Option<String>,
        /// Show only settings that are not at their default
        #[arg(long)]
        changed: bool,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Read a repository: modules, sections, imports, cycles, orphans, complexity, findings, risk
    Scan {
        #[command(flatten)]
        repository: Repository,
        /// Show only the modules that this one needs, nearest first (--max-recursion-depth limits how far)
        #[arg(long, value_name = "MODULE")]
        dependencies: Option<String>,
        /// How many rows each table shows at most; 0 shows all
        #[arg(long, default_value_t = 10, value_name = "ROWS")]
        top: usize,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Classify modules that nothing needs; writes orphan_modules.json and orphan_classifications.json
    Orphans {
        #[command(flatten)]
        repository: Repository,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Group modules that belong together; writes module_map.json
    Map {
        #[command(flatten)]
        repository: Repository,
        #[command(flatten)]
        grouping: Grouping,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Call every function of a repository in sandboxes, under scenarios, and rank what fails
    Run(Run),
    /// Measure, propose changes, prove them, keep the better ones on a branch, and stop when more is not worth its cost
    #[command(aliases = ["full-autonomous-run", "run-autonomous"])]
    Auto(Auto),
    /// Measure under presets of a file and improve, as auto does
    RunComplete(RunComplete),
    /// What loops proposed and what came of it: list, show, revert
    #[command(subcommand)]
    Patches(PatchesCommand),
    /// Make one call of a run again, and show what came of it with its traceback
    Replay {
        /// The id of the call, such as c_01kbz7q3m9x4vt_3f
        call: String,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Show a finished run, its calls, or the latest runs
    Show(Show),
    /// Store, list, show, remove and run workflows: sections that belong together
    #[command(subcommand)]
    Workflows(WorkflowsCommand),
    /// Run the tests of a repository in sandboxes, call what has none, and integrate orphans that pass
    SelfTest(SelfTest),
    /// Run a workflow in five scenarios, on and off, and mark the worst
    RunScenarios(WorkflowRun),
    /// Run a workflow through five stages of a system that gets worse
    SimulateTemporalTrajectory(WorkflowRun),
    /// Ask a history of ROI: what comes next, what is worth most, how reliable forecasts are
    #[command(subcommand)]
    Roi(RoiCommand),
    /// Scenarios of several runs by their ROI
    RankScenarios(RankScenarios),
    /// Scenarios of several runs by the synergy of workflows
    RankSynergy(RankSynergy),
    /// Scenarios by the synergy that was measured under them
    RankScenarioSynergy(RankSynergy),
    /// The last synergy of workflows, its average, and whether it has come to rest
    SynergyMetrics(SynergyMetrics),
    /// How much each kind of synergy counts
    #[command(subcommand)]
    Synergy(SynergyCommand),
    /// Synergy for Prometheus: the last that was measured, the weights, how far they are learned
    SynergyExporter(SynergyExporter),
    /// Learn again and again how much each kind of synergy counts
    SynergyTrainer(SynergyTrainer),
    /// The exporter and the trainer of synergy, as the settings ask for them, without a loop
    SynergyTools,
    /// Show synergy_history.db in a browser
    SynergyDashboard(Dashboard),
    /// Whether the audit trail is as it was written
    #[command(subcommand)]
    Audit(AuditCommand),
    /// How often loops were gone on with, and when one failed last
    Recovery(Recovery),
    /// Learn how what is measured becomes the ROI of the next cycle, and see whether that still holds
    #[command(subcommand)]
    Truth(TruthCommand),
    /// Keep, find and forget what was asked and answered: fixes, insights, feedback, ways to improve
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Make and show presets: the circumstances under which functions are called
    #[command(subcommand)]
    Presets(PresetsCommand),
    /// Run commands in sandboxes
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Show runs, patches, metrics and modules of the data directory in a browser
    Dashboard(Dashboard),
    /// Serve sandboxes to other programs, and the dashboard: a REST API
    Serve(Serve),
    /// The loop and the services beside it, each started again when it fails
    Up(Up),
    /// Keys of programs on other machines
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Sandboxes as tools of a model: the Model Context Protocol on stdin and stdout
    Mcp(McpArguments),
    /// What there is of menace on this machine, and what of it nobody needs; exit code 1 if there is such
    CheckResources(JsonOutput),
    /// Remove what killed runs left every hour, by systemd or cron
    InstallAutopurge(InstallAutopurge),
    /// Hold sandboxes until nobody needs that any more
    #[command(name = "__keep", hide = true)]
    Keep(Keep),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// Whether it runs for long and unattended.
    pub(crate) fn is_service(&self) -> bool {
        matches!(
            self,
            Self::Auto(_)
                | Self::RunComplete(_)
                | Self::SynergyExporter(_)
                | Self::SynergyTrainer(_)
                | Self::SynergyTools
                | Self::Up(_)
        )
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct JsonOutput {
    /// Print JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PresetsCommand {
    /// Make presets, of named profiles or by chance
    Generate(PresetsGenerate),
    /// List the canonical profiles with their severities
    List {
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Show a canonical profile or the presets of a file
    Show {
        /// The name of a profile, or a file
        name: String,
        #[command(flatten)]
        output: JsonOutput,
    },
}

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
    Run(WorkflowsRun),
    /// What a change of a stored workflow does to those that share modules with it
    Impact(WorkflowsImpact),
}

#[derive(Debug, Args)]
pub(crate) struct WorkflowsImpact {
    /// Its name
    pub(crate) workflow: String,
    #[command(flatten)]
    pub(crate) repository: Repository,
    /// By how much its ROI changes
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) roi: f64,
    /// By how much its synergy changes
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    pub(crate) synergy: f64,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

/// What to test.
#[derive(Debug, Args)]
pub(crate) struct SelfTest {
    /// Only these modules, by path or as Python imports them, and what they need
    pub(crate) paths: Vec<String>,
    /// The repository; without it SANDBOX_REPO_PATH, else the working directory
    #[arg(long, value_name = "PATH")]
    pub(crate) repo: Option<PathBuf>,
    /// Begin again so long after each round, such as 10m; without it SELF_TEST_INTERVAL, else one round
    #[arg(long, value_parser = sandbox::duration)]
    pub(crate) interval: Option<std::time::Duration>,
    /// How long a file of tests may take
    #[arg(long, default_value = "120s", value_parser = sandbox::duration)]
    pub(crate) timeout: std::time::Duration,
    /// What all chance comes from
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The interpreter; without it that of the repository, else python3
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<String>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

/// Which workflows to run.
#[derive(Debug, Args)]
pub(crate) struct WorkflowsRun {
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
pub(crate) struct WorkflowRun {
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

/// Which presets to make.
#[derive(Debug, Args)]
pub(crate) struct PresetsGenerate {
    /// Profiles, such as hostile_input high_latency_api; without them presets are made by chance
    #[arg(long, num_args = 1.., value_name = "PROFILE")]
    pub(crate) profiles: Vec<String>,
    /// How many: of each profile, or in all
    #[arg(long, default_value_t = 3)]
    pub(crate) count: usize,
    /// Write them to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// What chance comes from
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// What to measure, and under what.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeasureOptions {
    #[command(flatten)]
    pub(crate) repository: Repository,
    /// Only these files, from the root of the repository; can be repeated or separated by commas
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub(crate) modules: Vec<String>,
    /// What all chance comes from
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The interpreter; without it that of the repository (.venv, venv, uv, poetry, conda), else python3
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<String>,
    /// How many runs follow each other, each with the next seed and the next --preset-file
    #[arg(long, value_name = "COUNT")]
    pub(crate) runs: Option<usize>,
    /// Presets to run under; can be repeated, and the runs of --runs take turns
    #[arg(long, value_name = "FILE")]
    pub(crate) preset_file: Vec<PathBuf>,
    /// How many presets are made by chance, or at most taken from a file
    #[arg(long, value_name = "COUNT")]
    pub(crate) preset_count: Option<usize>,
    /// Add no presets to those that are given or made, but what they are compared with
    #[arg(long)]
    pub(crate) only_these_presets: bool,
    /// Add a line for each run to this file: its ROI, the forecast and the thresholds
    #[arg(long, value_name = "FILE")]
    pub(crate) forecast_log: Option<PathBuf>,
    /// How long a call may take, such as 5s or 500ms; without it 5s, and 2s where changes are proven by many more calls
    #[arg(long, value_parser = sandbox::duration)]
    pub(crate) timeout: Option<std::time::Duration>,
    /// How many rows each table shows at most; 0 shows all
    #[arg(long, default_value_t = 20, value_name = "ROWS")]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

/// How to call what is in a repository.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) measure: MeasureOptions,
    /// Go on with a run that was interrupted or whose process died
    #[arg(long, value_name = "RUN", conflicts_with_all = ["modules", "preset_file", "preset_count", "python", "runs"])]
    pub(crate) resume: Option<String>,
    /// Write a test of pytest for each failure into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) emit_tests: Option<PathBuf>,
}

/// What to show.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The run; without it the latest runs are listed
    pub(crate) run: Option<String>,
    /// List its calls
    #[arg(long)]
    pub(crate) calls: bool,
    /// Only calls that ended like this: ok, rejected, crash, timeout, oom, disk_full, denied, wrong, void …
    #[arg(long, requires = "calls", value_parser = kind)]
    pub(crate) kind: Option<menace_model::calls::OutcomeKind>,
    /// Only calls of this section, such as shop.cart:add
    #[arg(long, requires = "calls")]
    pub(crate) section: Option<String>,
    /// Only calls after this one
    #[arg(long, requires = "calls", value_name = "CALL")]
    pub(crate) after: Option<String>,
    /// How many rows each table shows at most; 0 shows all
    #[arg(long, default_value_t = 20, value_name = "ROWS")]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

fn kind(name: &str) -> Result<menace_model::calls::OutcomeKind, String> {
    use menace_model::calls::OutcomeKind;
    OutcomeKind::of_name(name).ok_or_else(|| {
        let known: Vec<&str> = OutcomeKind::ALL.into_iter().map(OutcomeKind::name).collect();
        format!("use one of {}", known.join(", "))
    })
}

/// What to read.
#[derive(Debug, Clone, Args)]
pub(crate) struct Repository {
    /// The repository; without it SANDBOX_REPO_PATH, else the working directory
    #[arg(value_name = "REPO")]
    pub(crate) path: Option<PathBuf>,
    /// Read every file, whatever an earlier scan remembers
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Leave out paths that match this glob, such as 'vendor/*'; can be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
}

/// How to group modules.
#[derive(Debug, Args)]
pub(crate) struct Grouping {
    /// louvain, greedy, label or hdbscan
    #[arg(long, alias = "module-algorithm", default_value_t = Algorithm::Louvain)]
    pub(crate) algorithm: Algorithm,
    /// Smallest similarity, 0 to 1, that relates modules
    #[arg(long, alias = "module-threshold", default_value_t = 0.1, value_name = "SHARE")]
    pub(crate) threshold: f64,
    /// Relate modules with similar docstrings too
    #[arg(long, alias = "module-semantic")]
    pub(crate) semantic: bool,
    /// Seed of everything random in the grouping
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}
