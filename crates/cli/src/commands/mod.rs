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
mod up;
mod usage;
mod workflows;

pub(crate) use resources::{CleanUpScope, clean_up};
pub(crate) use up::SUPERVISOR;
pub(crate) use usage::UsageError;

use crate::arguments::{AdminCommand, CliCommand, LabCommand};
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::{help, terminal};

/// Runs a command to its end.
pub(crate) fn run(command: CliCommand, configuration: &Configuration) -> anyhow::Result<MenaceExit> {
    match command {
        CliCommand::Scan { repository, dependencies: Some(module), output, .. } => {
            dependencies::run(configuration, &repository, &module, output.json)
        }
        CliCommand::Scan { repository, top, output, .. } => {
            scan::run(configuration, &repository, top, output.json)
        }
        CliCommand::Run(arguments) => run::run(configuration, &arguments),
        CliCommand::Auto(arguments) => auto::run(configuration, &arguments),
        CliCommand::Show(arguments) => show::run(configuration, &arguments),
        CliCommand::Replay { call, output } => replay::run(configuration, &call, output.json),
        CliCommand::Patches(command) => patches::run(configuration, &command),
        CliCommand::Sandbox(command) => sandbox::run(configuration, command),
        CliCommand::Serve(arguments) => service::serve(configuration, &arguments),
        CliCommand::Mcp(arguments) => service::mcp(configuration, &arguments),
        CliCommand::Keys(command) => service::keys(configuration, &command),
        CliCommand::Init => init::run(configuration),
        CliCommand::Doctor(output) => doctor::run(configuration, output.json),
        CliCommand::Config { pattern, changed, output } => {
            config::run(configuration, pattern.as_deref(), changed, output.json)
        }
        CliCommand::Completions { shell } => {
            terminal::print_bytes(&help::completions(shell))?;
            Ok(MenaceExit::Done)
        }
        CliCommand::Lab(command) | CliCommand::LabAlias(command) => lab(command, configuration),
        CliCommand::Admin(command) | CliCommand::AdminAlias(command) => admin(command, configuration),
        CliCommand::Help { topic } => {
            terminal::print(&help::topic_help(&topic)?)?;
            Ok(MenaceExit::Done)
        }
        CliCommand::Keep(arguments) => service::keep(configuration, &arguments),
    }
}

fn lab(command: LabCommand, configuration: &Configuration) -> anyhow::Result<MenaceExit> {
    match command {
        LabCommand::Orphans { repository, output } => orphans::run(configuration, &repository, output.json),
        LabCommand::Map { repository, grouping, output } => {
            map::run(configuration, &repository, &grouping, output.json)
        }
        LabCommand::Presets(command) => presets::run(&command),
        LabCommand::SelfTest(arguments) => self_test::run(configuration, &arguments),
        LabCommand::Workflows(command) => workflows::run(configuration, &command),
        LabCommand::RunScenarios(arguments) => workflows::run_scenarios(configuration, &arguments),
        LabCommand::SimulateTemporalTrajectory(arguments) => workflows::trajectory(configuration, &arguments),
        LabCommand::RunComplete(arguments) => auto::run_complete(configuration, arguments),
        LabCommand::Roi(command) => roi::run(configuration, &command),
        LabCommand::RankScenarios(arguments) => roi::rank_scenarios(&arguments),
        LabCommand::RankSynergy(arguments) => roi::rank_synergy(&arguments),
        LabCommand::RankScenarioSynergy(arguments) => roi::rank_scenario_synergy(&arguments),
        LabCommand::SynergyMetrics(arguments) => roi::synergy_metrics(configuration, &arguments),
        LabCommand::Synergy(command) => roi::synergy(configuration, &command),
        LabCommand::SynergyDashboard(arguments) => dashboard::of_synergy(configuration, &arguments),
        LabCommand::Truth(command) => roi::truth(configuration, &command),
        LabCommand::Memory(command) => memory::run(configuration, &command),
        LabCommand::Dashboard(arguments) => dashboard::run(configuration, &arguments),
    }
}

fn admin(command: AdminCommand, configuration: &Configuration) -> anyhow::Result<MenaceExit> {
    match command {
        AdminCommand::Up(arguments) => up::run(configuration, &arguments),
        AdminCommand::Audit(command) => audit::run(configuration, &command),
        AdminCommand::Recovery(arguments) => auto::show_recovery(configuration, &arguments),
        AdminCommand::Cleanup(arguments) => {
            let scope = if arguments.stale_only { CleanUpScope::Stale } else { CleanUpScope::All };
            clean_up(configuration, scope, arguments.output.json)
        }
        AdminCommand::CheckResources(output) => resources::check_resources(configuration, output.json),
        AdminCommand::InstallAutopurge(arguments) => resources::install_autopurge(configuration, &arguments),
        AdminCommand::SynergyExporter(arguments) => exporters::export(configuration, &arguments),
        AdminCommand::SynergyTrainer(arguments) => exporters::train(configuration, &arguments),
        AdminCommand::SynergyTools => exporters::tools(configuration),
        AdminCommand::Man { directory } => {
            help::man_pages(&directory)?;
            Ok(MenaceExit::Done)
        }
    }
}
