//! `menace sandbox`: isolation from the shell.

mod bench;
pub(super) mod network;
mod run;

pub(crate) use bench::BenchError;

use crate::arguments::SandboxCommand;
use crate::exit::Exit;

pub(super) fn run(command: SandboxCommand) -> anyhow::Result<Exit> {
    match command {
        SandboxCommand::Run(arguments) => run::run(*arguments),
        SandboxCommand::Bench(arguments) => bench::run(&arguments),
    }
}
