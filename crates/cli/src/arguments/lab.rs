//! `menace lab`: everything beyond the everyday commands. Each command also works without `lab`.

use clap::Subcommand;

use super::{
    DashboardArguments, JsonOutput, MemoryCommand, ModuleGroupingArguments, PresetsCommand,
    RankScenariosArguments, RankSynergyArguments, RepositoryArguments, RoiCommand, RunCompleteArguments,
    SelfTestArguments, SynergyCommand, SynergyMetricsArguments, TruthCommand, WorkflowStressArguments,
    WorkflowsCommand,
};

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Classify modules that nothing imports; write orphan_modules.json and orphan_classifications.json
    Orphans {
        #[command(flatten)]
        repository: RepositoryArguments,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Group related modules; write module_map.json
    Map {
        #[command(flatten)]
        repository: RepositoryArguments,
        #[command(flatten)]
        grouping: ModuleGroupingArguments,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Generate, list and show presets: the environments in which functions are called
    #[command(subcommand)]
    Presets(PresetsCommand),
    /// Run a repository's own tests in sandboxes, call modules without tests, integrate orphans that pass
    SelfTest(SelfTestArguments),
    /// Store, list, run and remove workflows: ordered lists of sections
    #[command(subcommand)]
    Workflows(WorkflowsCommand),
    /// Run a workflow in five scenarios, with and without stress, and mark the worst one
    RunScenarios(WorkflowStressArguments),
    /// Run a workflow through five stages of increasing stress
    SimulateTemporalTrajectory(WorkflowStressArguments),
    /// Run `auto` under the presets of a file
    RunComplete(RunCompleteArguments),
    /// Forecast and rank ROI from a history
    #[command(subcommand)]
    Roi(RoiCommand),
    /// Rank scenarios of several runs by ROI
    RankScenarios(RankScenariosArguments),
    /// Rank scenarios of several runs by workflow synergy
    RankSynergy(RankSynergyArguments),
    /// Rank scenarios by the synergy measured under them
    RankScenarioSynergy(RankSynergyArguments),
    /// Show the latest workflow synergy, its average, and whether it has converged
    SynergyMetrics(SynergyMetricsArguments),
    /// Show, train, export and import the weights of the synergy metrics
    #[command(subcommand)]
    Synergy(SynergyCommand),
    /// Show synergy_history.db in a browser
    SynergyDashboard(DashboardArguments),
    /// Train and inspect the model that corrects predicted ROI
    #[command(subcommand)]
    Truth(TruthCommand),
    /// Log, search and compact the memory of prompts and answers
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Show runs, patches, metrics and modules in a browser
    Dashboard(DashboardArguments),
}
