//! Parsing: the clap command with its hidden aliases, and the spellings of the original program.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches, Subcommand};

use crate::arguments::{AdminCommand, CliArguments, LabCommand};
use crate::help;

/// Options of the original program that are commands here.
const OPTIONS_THAT_ARE_COMMANDS: [&str; 2] = ["--run-scenarios", "--simulate-temporal-trajectory"];

/// The whole command line, with grouped help.
pub(crate) fn command() -> Command {
    let mut command = CliArguments::command();
    for alias in alias_names() {
        command = command.mut_subcommand(alias, |subcommand| subcommand.hide(true));
    }
    help::grouped(command)
}

/// Names under which commands of `lab` and `admin` work at the top level.
fn alias_names() -> Vec<String> {
    [
        LabCommand::augment_subcommands(Command::new("lab")),
        AdminCommand::augment_subcommands(Command::new("admin")),
    ]
    .iter()
    .flat_map(|parent| parent.get_subcommands().map(|command| command.get_name().to_owned()))
    .collect()
}

/// Parses the arguments of this process.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<CliArguments, clap::Error> {
    let arguments = as_command(arguments);
    match parse_exactly(arguments.clone()) {
        // `menace --runs 1`, as the original program accepts it: options of `auto` without its name.
        Err(error) if error.kind() == ErrorKind::UnknownArgument && starts_with_option(&arguments) => {
            let mut as_auto = arguments;
            as_auto.insert(1, "auto".into());
            parse_exactly(as_auto).map_err(|_| error)
        }
        parsed => parsed,
    }
}

fn parse_exactly(arguments: Vec<OsString>) -> Result<CliArguments, clap::Error> {
    CliArguments::from_arg_matches(&command().try_get_matches_from(arguments)?)
}

fn starts_with_option(arguments: &[OsString]) -> bool {
    arguments.get(1).and_then(|first| first.to_str()).is_some_and(|first| first.starts_with("--"))
}

/// Rewrites `--run-scenarios 42` to `run-scenarios 42`, wherever it stands among other options.
fn as_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let first_word =
        arguments.iter().skip(1).find_map(|argument| argument.to_str()).filter(|word| word.starts_with("--"));
    if first_word.is_none() {
        return arguments;
    }
    for option in OPTIONS_THAT_ARE_COMMANDS {
        let with_value = format!("{option}=");
        let Some(index) = arguments.iter().position(|argument| {
            argument.to_str().is_some_and(|text| text == option || text.starts_with(&with_value))
        }) else {
            continue;
        };
        let text = arguments.remove(index);
        let value = text.to_str().and_then(|text| text.strip_prefix(&with_value)).map(OsString::from);
        let value = value.or_else(|| (index < arguments.len()).then(|| arguments.remove(index)));
        let command = option.trim_start_matches("--");
        arguments.splice(1..1, [OsString::from(command)].into_iter().chain(value));
        return arguments;
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<String, clap::Error> {
        let words = std::iter::once("menace").chain(line.split_whitespace()).map(OsString::from).collect();
        parse(words).map(|arguments| format!("{:?}", arguments.command))
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_old_spelling_still_works() {
        for (line, expected) in [
            ("--run-scenarios 42", "RunScenarios"),
            ("--run-scenarios=42", "RunScenarios"),
            ("--simulate-temporal-trajectory 42", "SimulateTemporalTrajectory"),
            ("--include-orphans --run-scenarios 42", "RunScenarios"),
            ("run-scenarios 42", "RunScenarios"),
            ("lab run-scenarios 42", "RunScenarios"),
            ("--runs 1", "Auto"),
            ("--recover", "Auto"),
            ("--preset-file presets.json --runs 1", "Auto"),
            ("full-autonomous-run", "Auto"),
            ("run-autonomous --runs 1", "Auto"),
            ("workflows list", "Workflows"),
            ("roi forecast", "Forecast"),
            ("up", "Up"),
            ("admin up", "Up"),
            ("check-resources", "CheckResources"),
            ("synergy-exporter", "SynergyExporter"),
        ] {
            let command = parsed(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert!(command.contains(expected), "{line}: {command}");
        }
        let error = parsed("--no-such-option").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownArgument);
        assert!(error.to_string().contains("--no-such-option"));
    }
}
