//! `menace sandbox`: isolation from the shell.

mod run;

use crate::arguments::SandboxCommand;
use crate::exit::Exit;

pub(super) fn run(command: SandboxCommand) -> anyhow::Result<Exit> {
    match command {
        SandboxCommand::Run(arguments) => run::run(*arguments),
    }
}
