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

/// Most of a scan is small allocations on several threads. Reading Django with jemalloc takes 55 MB, with mimalloc 105 MB
/// and longer, because new memory has to be cleared by the kernel.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // What makes namespaces must have one thread, so this comes before anything else.
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

/// Whoever is looked after ends with who does so.
fn end_with_supervisor() -> anyhow::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let supervisor = std::env::var(commands::SUPERVISOR).ok().and_then(|text| text.parse().ok());
    // Processes of a service inherit the variable, and have another parent.
    if supervisor.is_some() && supervisor == getppid().map(|parent| parent.as_raw_nonzero().get()) {
        set_parent_process_death_signal(Some(Signal::INT))?;
        // It may have ended just before, and then nobody says so.
        anyhow::ensure!(
            supervisor == getppid().map(|parent| parent.as_raw_nonzero().get()),
            "menace up has ended"
        );
    }
    Ok(())
}

fn run(arguments: CliArguments) -> anyhow::Result<MenaceExit> {
    end_with_supervisor()?;
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
            "docs/settings.md is old; run with UPDATE_DOCS=1 to write it anew"
        );
    }
}
