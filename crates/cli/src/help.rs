//! Help beyond what clap prints by itself: commands in groups, all settings on one page, completions, man pages.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use clap::Command;
use menace_model::settings::{SettingStatus, declarations};

use crate::command_line::command;
use crate::commands::UsageError;

/// The visible commands, in the order in which a new user needs them.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Everyday", &["scan", "run", "auto", "show", "replay", "patches"]),
    ("Sandboxes", &["sandbox", "serve", "mcp", "keys"]),
    ("Setup", &["init", "doctor", "config", "completions"]),
];

const FOOTER: &str = "\
More commands:
  menace lab --help     workflows, ROI, synergy, presets, memory, dashboard, …
  menace admin --help   services, clean-up, audit, exporters, man pages
  menace help settings  every setting: flag, variable and meaning

Exit codes: 0 success, 1 findings (failures, missing capabilities), 2 usage error,
3 unsupported environment, 4 interrupted (state saved), 70 internal error.";

/// The command with its help in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let mut commands = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(commands, "{title}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(commands, "  {name:<12} {about}");
        }
        commands.push('\n');
    }
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{commands}Options:\n{{options}}\n\n{FOOTER}\n"
    ))
}

/// Help of a command, or of all settings.
pub(crate) fn topic_help(topic: &[String]) -> anyhow::Result<String> {
    if topic == ["settings"] {
        return Ok(settings());
    }
    let mut command = command();
    command.build();
    let mut found = &mut command;
    for word in topic {
        found = found.find_subcommand_mut(word).ok_or_else(|| UsageError::NoHelpTopic(topic.join(" ")))?;
    }
    Ok(found.render_long_help().ansi().to_string())
}

/// Every active setting, by group.
fn settings() -> String {
    let mut page = String::from(
        "Settings work with every command, as a flag, as an environment variable, in .env or in\n\
         sandbox_settings.yaml, in this order of precedence. `menace config` shows their values.\n",
    );
    let mut last_group = "";
    for (group, declaration) in declarations().filter(|(_, row)| row.status == SettingStatus::Active) {
        if group != last_group {
            let _ = writeln!(page, "\n{group}:");
            last_group = group;
        }
        let name = match declaration.flag {
            Some(flag) => format!("{flag}  {}", declaration.env),
            None => declaration.env.to_owned(),
        };
        let _ = writeln!(page, "  {name}\n          {}", declaration.help());
    }
    page
}

/// The completion script of a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "menace", &mut script);
    script
}

/// Writes one man page per visible command.
pub(crate) fn man_pages(directory: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("failed to create {}", directory.display()))?;
    clap_mangen::generate_to(command().disable_help_subcommand(true), directory)
        .with_context(|| format!("failed to write man pages to {}", directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_shows_at_most_fourteen_commands_and_every_visible_one() {
        let command = command();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let visible: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(Command::get_name).collect();
        assert!(visible.len() <= 14, "{visible:?}");
        let mut sorted = (grouped.clone(), visible.clone());
        sorted.0.sort_unstable();
        sorted.1.sort_unstable();
        assert_eq!(sorted.0, sorted.1);
        let page = command.clone().render_help().to_string();
        assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
        assert!(page.contains("menace lab --help"), "{page}");
    }

    #[test]
    fn topics_are_commands_or_settings() {
        let page = topic_help(&["settings".into()]).unwrap();
        assert!(page.contains("--data-dir") && page.contains("SANDBOX_DATA_DIR"), "{page}");
        assert!(topic_help(&["sandbox".into(), "run".into()]).unwrap().contains("--memory"));
        assert!(topic_help(&["run-scenarios".into()]).is_ok());
        assert!(topic_help(&["nonsense".into()]).is_err());
    }

    /// Help pages of a command and its visible subcommands.
    fn pages(command: &mut Command, path: &str, all: &mut String) {
        let _ = writeln!(all, "==== {path}\n{}", command.render_long_help());
        let is_visible = |one: &&mut Command| !one.is_hide_set() && one.get_name() != "help";
        for subcommand in command.get_subcommands_mut().filter(is_visible) {
            let path = format!("{path} {}", subcommand.get_name());
            pages(subcommand, &path, all);
        }
    }

    #[test]
    fn help_pages() {
        let mut command = command().term_width(100);
        command.build();
        let mut all = String::new();
        pages(&mut command, "menace", &mut all);
        for parent in ["lab", "admin"] {
            pages(
                command.find_subcommand_mut(parent).expect("it exists"),
                &format!("menace {parent}"),
                &mut all,
            );
        }
        let trimmed: Vec<&str> = all.lines().map(str::trim_end).collect();
        insta::assert_snapshot!(trimmed.join("\n"));
    }
}
