//! `menace sandbox`: sandboxes from the shell.

mod attach;
mod manage;
pub(super) mod network;
mod run;
mod screen;

use crate::arguments::SandboxCommand;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use manage::SandboxStateChange;

pub(super) fn run(configuration: &Configuration, command: SandboxCommand) -> anyhow::Result<MenaceExit> {
    match command {
        SandboxCommand::Attach(arguments) => run::attach(*arguments),
        SandboxCommand::Create(arguments) => manage::create(configuration, &arguments),
        SandboxCommand::List(output) => manage::list(configuration, output.json),
        SandboxCommand::Exec(arguments) => manage::exec(configuration, &arguments),
        SandboxCommand::Cp { from, to } => manage::copy(configuration, &from, &to),
        SandboxCommand::Start(which) => manage::change(configuration, &which, &SandboxStateChange::Start),
        SandboxCommand::Stop(which) => manage::change(configuration, &which, &SandboxStateChange::Stop),
        SandboxCommand::Pause(which) => manage::change(configuration, &which, &SandboxStateChange::Pause),
        SandboxCommand::Resume(which) => manage::change(configuration, &which, &SandboxStateChange::Resume),
        SandboxCommand::Snapshot { which, name } => manage::snapshot(configuration, &which, &name),
        SandboxCommand::Fork(which) => manage::fork(configuration, &which),
        SandboxCommand::Rm { sandboxes } => manage::remove(configuration, &sandboxes),
        SandboxCommand::Stats(which) => manage::stats(configuration, &which),
        SandboxCommand::Run(arguments) => run::run(*arguments),
    }
}
