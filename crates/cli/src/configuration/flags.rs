//! Flags made from the settings table: every active setting that has one.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use menace_model::settings::{SettingDeclaration, SettingSource, SettingStatus, SettingsLayer, declarations};

/// Settings given as flags, by environment variable.
#[derive(Debug, Default)]
pub(crate) struct SettingFlags {
    values: Vec<(&'static str, String)>,
}

impl SettingFlags {
    pub(crate) fn layer(&self) -> SettingsLayer {
        SettingsLayer::new(SettingSource::Flag, self.values.iter().map(|(env, value)| (*env, value.clone())))
    }
}

fn flags() -> impl Iterator<Item = (&'static str, &'static SettingDeclaration, &'static str)> {
    declarations()
        .filter(|(_, declaration)| declaration.status == SettingStatus::Active)
        .filter_map(|(group, declaration)| Some((group, declaration, declaration.flag?.strip_prefix("--")?)))
}

fn aliases(declaration: &SettingDeclaration) -> Vec<&'static str> {
    declaration.flag_aliases.iter().filter_map(|alias| alias.strip_prefix("--")).collect()
}

/// The id of the `--no-` form of a switch.
fn negated(declaration: &SettingDeclaration) -> String {
    format!("no-{}", declaration.env)
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        flags().fold(command, |command, (group, declaration, flag)| {
            let argument = Arg::new(declaration.env)
                .long(flag)
                .aliases(aliases(declaration))
                .help(format!("{} [{}]", declaration.help(), declaration.env))
                .help_heading(group)
                .hide(true)
                .global(true);
            if !declaration.is_switch {
                return command.arg(argument.action(ArgAction::Set).value_name("VALUE"));
            }
            let negation = Arg::new(negated(declaration))
                .long(format!("no-{flag}"))
                .aliases(aliases(declaration).iter().map(|alias| format!("no-{alias}")))
                .action(ArgAction::SetTrue)
                .overrides_with(declaration.env)
                .hide(true)
                .global(true);
            command
                .arg(argument.action(ArgAction::SetTrue).overrides_with(negated(declaration)))
                .arg(negation)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut values = Vec::new();
        for (_, declaration, _) in flags() {
            let value = if declaration.is_switch {
                let is_on = matches.get_flag(declaration.env);
                let is_off = matches.get_flag(&negated(declaration));
                is_on.then(|| "1".to_owned()).or_else(|| is_off.then(|| "0".to_owned()))
            } else {
                matches.get_one::<String>(declaration.env).cloned()
            };
            values.extend(value.map(|value| (declaration.env, value)));
        }
        Ok(Self { values })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
