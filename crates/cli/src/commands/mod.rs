//! One file per command.

mod audit;
mod auto;
mod beside;
mod config;
mod dashboard;
mod dependencies;
mod doctor;
mod exporters;
mod init;
mod inventory_json;
mod map;
mod memory;
mod orphans;
mod patches;
mod presets;
mod reading;
mod replay;
mod resources;
mod roi;
mod run;
mod sandbox;
mod scan;
mod scan_report;
mod self_test;
mod service;
mod show;
mod stubs;
mod up;
mod usage;
mod workflows;

pub(crate) use resources::{Scope, clean_up};
pub(crate) use sandbox::BenchError;
pub(crate) use up::SUPERVISOR;
pub(crate) use usage::UsageError;

use clap::CommandFactory;

use crate::arguments::{Arguments, Command};
use crate::configuration::Configuration;
use crate::exit::Exit;

/// Runs a command to its end.
pub(crate) fn run(command: Command, configuration: &Configuration) -> anyhow::Result<Exit> {
    match command {
        Command::Init => init::run(configuration),
        Command::Doctor(output) => doctor::run(configuration, output.json),
        Command::Config { pattern, changed, output } => {
            config::run(configuration, pattern.as_deref(), changed, output.json)
        }
        Command::Scan { repository, dependencies: Some(module), output, .. } => {
            dependencies::run(configuration, &repository, &module, output.json)
        }
        Command::Scan { repository, top, output, .. } => {
            scan::run(configuration, &repository, top, output.json)
        }
        Command::Orphans { repository, output } => orphans::run(configuration, &repository, output.json),
        Command::Map { repository, grouping, output } => {
            map::run(configuration, &repository, &grouping, output.json)
        }
        Command::Presets(command) => presets::run(&command),
        Command::Run(arguments) => run::run(configuration, &arguments),
        Command::Auto(arguments) => auto::run(configuration, &arguments),
        Command::RunComplete(arguments) => auto::run_complete(configuration, arguments),
        Command::Patches(command) => patches::run(configuration, &command),
        Command::Replay { call, output } => replay::run(configuration, &call, output.json),
        Command::Show(arguments) => show::run(configuration, &arguments),
        Command::Workflows(command) => workflows::run(configuration, &command),
        Command::SelfTest(arguments) => self_test::run(configuration, &arguments),
        Command::RunScenarios(arguments) => workflows::run_scenarios(configuration, &arguments),
        Command::SimulateTemporalTrajectory(arguments) => workflows::trajectory(configuration, &arguments),
        Command::Roi(command) => roi::run(configuration, &command),
        Command::RankScenarios(arguments) => roi::rank_scenarios(&arguments),
        Command::RankSynergy(arguments) => roi::rank_synergy(&arguments),
        Command::RankScenarioSynergy(arguments) => roi::rank_scenario_synergy(&arguments),
        Command::SynergyMetrics(arguments) => roi::synergy_metrics(configuration, &arguments),
        Command::Synergy(command) => roi::synergy(configuration, &command),
        Command::SynergyExporter(arguments) => exporters::export(configuration, &arguments),
        Command::SynergyTrainer(arguments) => exporters::train(configuration, &arguments),
        Command::SynergyTools => exporters::tools(configuration),
        Command::SynergyDashboard(arguments) => dashboard::of_synergy(configuration, &arguments),
        Command::Audit(command) => audit::run(configuration, &command),
        Command::Recovery(arguments) => auto::show_recovery(configuration, &arguments),
        Command::Truth(command) => roi::truth(configuration, &command),
        Command::Memory(command) => memory::run(configuration, &command),
        Command::Sandbox(command) => sandbox::run(configuration, command),
        Command::Dashboard(arguments) => dashboard::run(configuration, &arguments),
        Command::Serve(arguments) => service::serve(configuration, &arguments),
        Command::Up(arguments) => up::run(configuration, &arguments),
        Command::Keys(command) => service::keys(configuration, &command),
        Command::Mcp(arguments) => service::mcp(configuration, &arguments),
        Command::CheckResources(output) => resources::check_resources(configuration, output.json),
        Command::InstallAutopurge(arguments) => resources::install_autopurge(configuration, &arguments),
        Command::Keep(arguments) => service::keep(configuration, &arguments),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "menace", &mut std::io::stdout());
            Ok(Exit::Done)
        }
    }
}
