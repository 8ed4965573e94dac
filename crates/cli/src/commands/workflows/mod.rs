//! Workflows: sections that belong together, stored and run.

mod foresight;
mod impact;
mod laboratory;
mod reports;
mod scenarios;
mod stored;
mod synergy;
mod together;

pub(super) use scenarios::{run_scenarios, trajectory};

use crate::arguments::WorkflowsCommand;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;

pub(super) fn run(configuration: &Configuration, command: &WorkflowsCommand) -> anyhow::Result<MenaceExit> {
    match command {
        WorkflowsCommand::Run(arguments) => together::run(configuration, arguments),
        WorkflowsCommand::Impact(arguments) => impact::run(configuration, arguments),
        other => stored::run(configuration, other),
    }
}
