//! The command line: what `menace` accepts.
#![expect(clippy::doc_markdown, reason = "doc comments here are the help texts that users read")]

mod admin;
mod auto;
mod dashboard;
mod exporters;
mod lab;
mod measure;
mod memory;
mod network;
mod patches;
mod presets;
mod resources;
mod sandbox;
mod self_test;
mod service;
mod tracking;
mod up;
mod workflows;

use clap::{Args, Parser, Subcommand};

use crate::commands::CleanUpScope;
use crate::configuration::SettingFlags;
pub(crate) use admin::AdminCommand;
pub(crate) use auto::{AutoArguments, RunCompleteArguments};
pub(crate) use dashboard::DashboardArguments;
pub(crate) use exporters::{
    AuditCommand, RecoveryArguments, SynergyExporterArguments, SynergyTrainerArguments,
};
pub(crate) use lab::LabCommand;
pub(crate) use measure::{
    MeasureOptions, ModuleGroupingArguments, RepositoryArguments, RunArguments, ShowArguments,
};
pub(crate) use memory::{
    MemoryCommand, MemoryCompactArguments, MemoryListArguments, MemoryLogArguments, MemorySearchArguments,
};
pub(crate) use network::{NetworkArguments, NetworkModeArgument};
pub(crate) use patches::{PatchesCommand, PatchesListArguments};
pub(crate) use presets::{PresetsCommand, PresetsGenerateArguments};
pub(crate) use resources::InstallAutopurgeArguments;
pub(crate) use sandbox::{SandboxAttachArguments, SandboxCommand, SandboxRunArguments};
pub(crate) use self_test::SelfTestArguments;
pub(crate) use service::{
    BackendChoice, KeysCommand, KeysCreateArguments, McpArguments, SandboxCreateArguments,
    SandboxDaemonArguments, SandboxExecArguments, SandboxIdArguments, ServeArguments,
};
pub(crate) use tracking::{
    ForecastArguments, HistoryFileArguments, RankScenariosArguments, RankSynergyArguments, RoiCommand,
    SynergyCommand, SynergyMetricsArguments, TruthCommand,
};
pub(crate) use up::UpArguments;
pub(crate) use workflows::{
    WorkflowStressArguments, WorkflowsCommand, WorkflowsImpactArguments, WorkflowsRunArguments,
};

/// Autonomous sandbox for Python code: finds what breaks, keeps patches that are measurably better, and runs
/// commands in isolation.
#[derive(Debug, Parser)]
#[command(name = "menace", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct CliArguments {
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
    /// Remove stale resources of killed runs: processes, cgroups, containers, volumes, overlays
    #[arg(long, conflicts_with = "purge_stale", hide = true)]
    pub(crate) cleanup: bool,
    /// Like --cleanup, but keep recent overlays and sandboxes that the next server adopts
    #[arg(long, hide = true)]
    pub(crate) purge_stale: bool,
    /// Print JSON on stdout (with --cleanup or --purge-stale)
    #[arg(long, hide = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

impl CliArguments {
    /// Scope of the requested clean-up, if any.
    pub(crate) fn scope(&self) -> Option<CleanUpScope> {
        match (self.cleanup, self.purge_stale) {
            (true, _) => Some(CleanUpScope::All),
            (false, true) => Some(CleanUpScope::Stale),
            (false, false) => None,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Read a repository: modules, imports, orphans, complexity, findings, risk
    Scan {
        #[command(flatten)]
        repository: RepositoryArguments,
        /// Show only the modules that MODULE depends on, nearest first (--max-recursion-depth limits the depth)
        #[arg(long, value_name = "MODULE")]
        dependencies: Option<String>,
        /// Rows per table; 0 shows all
        #[arg(long, default_value_t = 10, value_name = "ROWS")]
        top: usize,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Call every function in sandboxes under stress, and rank the failures
    Run(RunArguments),
    /// Improve a repository: measure, propose and verify patches, keep the better ones
    #[command(aliases = ["full-autonomous-run", "run-autonomous"])]
    Auto(AutoArguments),
    /// Show a finished run, its calls, or the latest runs
    Show(ShowArguments),
    /// Repeat one call of a run, with its traceback
    Replay {
        /// Id of the call, such as c_01kbz7q3m9x4vt_3f
        call: String,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// List, show or revert proposed patches and their verdicts
    #[command(subcommand)]
    Patches(PatchesCommand),
    /// Run commands in sandboxes
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Serve sandboxes over a REST API, with the dashboard
    Serve(ServeArguments),
    /// Offer sandboxes as tools to a model (Model Context Protocol on stdin and stdout)
    Mcp(McpArguments),
    /// Create, list and revoke API keys
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Write a .env file with the default settings and create the data directory
    Init,
    /// Check what menace needs from this machine and how to get what is missing
    Doctor(JsonOutput),
    /// Show every setting, its value and its source
    Config {
        /// Show only settings whose variable, flag or help contains PATTERN
        pattern: Option<String>,
        /// Show only settings that differ from their default
        #[arg(long)]
        changed: bool,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Print a shell completion script
    Completions {
        /// Shell to generate the script for
        shell: clap_complete::Shell,
    },
    /// Workflows, ROI, synergy, presets, memory and other experiments
    #[command(subcommand, hide = true)]
    Lab(LabCommand),
    /// Services, clean-up, audit and exporters
    #[command(subcommand, hide = true)]
    Admin(AdminCommand),
    /// Show help of a command, or of all settings with 'menace help settings'
    #[command(hide = true)]
    Help {
        /// Command and subcommand, or `settings`
        topic: Vec<String>,
    },
    /// Run the sandbox daemon until no sandbox is left
    #[command(name = "__keep", hide = true)]
    Keep(SandboxDaemonArguments),
    /// Commands of `menace lab` without `lab`
    #[command(flatten)]
    LabAlias(LabCommand),
    /// Commands of `menace admin` without `admin`
    #[command(flatten)]
    AdminAlias(AdminCommand),
}

impl CliCommand {
    /// Whether the command runs unattended for a long time.
    pub(crate) fn is_service(&self) -> bool {
        match self {
            Self::Auto(_) => true,
            Self::Lab(command) | Self::LabAlias(command) => matches!(command, LabCommand::RunComplete(_)),
            Self::Admin(command) | Self::AdminAlias(command) => command.is_service(),
            _ => false,
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct JsonOutput {
    /// Print JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
}
