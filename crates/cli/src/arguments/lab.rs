//! `menace lab`: everything beyond the everyday commands. Each also works without `lab`.

use clap::Subcommand;

use super::{
    Dashboard, Grouping, JsonOutput, MemoryCommand, PresetsCommand, RankScenarios, RankSynergy, Repository,
    RoiCommand, RunComplete, SelfTest, SynergyCommand, SynergyMetrics, TruthCommand, WorkflowRun,
    WorkflowsCommand,
};

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Classify modules that nothing imports; writes orphan_modules.json and orphan_classifications.json
    Orphans {
        #[command(flatten)]
        repository: Repository,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Group related modules; writes module_map.json
    Map {
        #[command(flatten)]
        repository: Repository,
        #[command(flatten)]
        grouping: Grouping,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Generate, list and show presets: the environments in which functions are called
    #[command(subcommand)]
    Presets(PresetsCommand),
    /// Run a repository's own tests in sandboxes, call modules without tests, integrate orphans that pass
    SelfTest(SelfTest),
    /// Store, list, run and remove workflows: ordered lists of sections
    #[command(subcommand)]
    Workflows(WorkflowsCommand),
    /// Run a workflow in five scenarios, with and without stress, and mark the worst
    RunScenarios(WorkflowRun),
    /// Run a workflow through five stages of increasing stress
    SimulateTemporalTrajectory(WorkflowRun),
    /// Run `auto` under the presets of a file
    RunComplete(RunComplete),
    /// Forecast and rank ROI from a history
    #[command(subcommand)]
    Roi(RoiCommand),
    /// Rank scenarios of several runs by ROI
    RankScenarios(RankScenarios),
    /// Rank scenarios of several runs by workflow synergy
    RankSynergy(RankSynergy),
    /// Rank scenarios by the synergy measured under them
    RankScenarioSynergy(RankSynergy),
    /// Show the latest workflow synergy, its average, and whether it has converged
    SynergyMetrics(SynergyMetrics),
    /// Show, train, export and import the weights of the synergy metrics
    #[command(subcommand)]
    Synergy(SynergyCommand),
    /// Show synergy_history.db in a browser
    SynergyDashboard(Dashboard),
    /// Train and inspect the model that corrects predicted ROI
    #[command(subcommand)]
    Truth(TruthCommand),
    /// Log, search and compact the memory of prompts and answers
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Show runs, patches, metrics and modules in a browser
    Dashboard(Dashboard),
}
