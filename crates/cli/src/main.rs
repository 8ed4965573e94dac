//! The binary `menace`: arguments in, tables or JSON out.

mod arguments;
mod command_line;
mod commands;
mod configuration;
mod exit;
mod help;
mod interruption;
mod logging;
mod terminal;

use std::process::ExitCode;

use clap::error::ErrorKind;

use arguments::CliArguments;
use configuration::Configuration;
use exit::MenaceExit;

/// A scan makes many small allocations on several threads. Reading Django takes 55 MB with jemalloc; with mimalloc it
/// takes 105 MB and more time, because the kernel has to clear new memory.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // Only a process with a single thread can create namespaces, so this comes first.
    let raw_arguments: Vec<_> = std::env::args_os().collect();
    if let Some(code) = menace_sandbox::child_main(&raw_arguments) {
        return code;
    }
    let arguments = match command_line::parse(raw_arguments) {
        Ok(arguments) if arguments.command.is_none() && arguments.scope().is_none() => {
            terminal::ignore_broken_pipe(command_line::command().write_help(&mut std::io::stderr()));
            return MenaceExit::Usage.into();
        }
        Ok(arguments) if arguments.command.is_some() && (arguments.scope().is_some() || arguments.json) => {
            let error = command_line::command().error(
                ErrorKind::ArgumentConflict,
                "--cleanup, --purge-stale and their --json cannot be combined with a command",
            );
            terminal::ignore_broken_pipe(error.print());
            return MenaceExit::Usage.into();
        }
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are printed to stdout by the same call and are no failure.
            let is_failure = error.use_stderr();
            terminal::ignore_broken_pipe(error.print());
            return if is_failure { MenaceExit::Usage.into() } else { MenaceExit::Done.into() };
        }
    };
    match run(arguments) {
        Ok(exit) => exit.into(),
        Err(error) => {
            terminal::error(&error);
            exit::exit_for_error(&error).into()
        }
    }
}

/// Makes this process exit when its supervisor exits.
fn exit_with_supervisor() -> anyhow::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let supervisor = std::env::var(commands::SUPERVISOR).ok().and_then(|text| text.parse().ok());
    // Processes of a service inherit the variable, and have another parent.
    if supervisor.is_some() && supervisor == getppid().map(|parent| parent.as_raw_nonzero().get()) {
        set_parent_process_death_signal(Some(Signal::INT))?;
        // The supervisor may have exited before the signal was set up.
        anyhow::ensure!(
            supervisor == getppid().map(|parent| parent.as_raw_nonzero().get()),
            "menace up has exited"
        );
    }
    Ok(())
}

fn run(arguments: CliArguments) -> anyhow::Result<MenaceExit> {
    exit_with_supervisor()?;
    let configuration = Configuration::load(&arguments.settings)?;
    let is_service = arguments.command.as_ref().is_some_and(arguments::CliCommand::is_service);
    let _traces = logging::start(&configuration, is_service)?;
    configuration.warn();
    match (arguments.scope(), arguments.command) {
        (_, Some(command)) => commands::run(command, &configuration),
        (scope, None) => {
            commands::clean_up(&configuration, scope.unwrap_or(commands::CleanUpScope::Stale), arguments.json)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use menace_model::settings::reference_markdown;

    #[test]
    fn the_settings_page_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, reference_markdown()).unwrap();
        }
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(
            page == reference_markdown(),
            "docs/settings.md is outdated; run with UPDATE_DOCS=1 to update it"
        );
    }
}
