//! One row of the settings table.

use serde::Serialize;

use super::Settings;

/// Whether a setting does something yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Read by the code that is there.
    Active,
    /// Known and checked; its feature is not there yet.
    Planned,
    /// An old name that still works, with a warning.
    Deprecated,
}

/// What is declared about one setting.
#[derive(Debug, Clone, Copy)]
pub struct Declaration {
    /// The field in its group and the key in the YAML file.
    pub key: &'static str,
    /// The environment variable.
    pub env: &'static str,
    /// The long flag, with its dashes.
    pub flag: Option<&'static str>,
    /// Other spellings of the flag.
    pub flag_aliases: &'static [&'static str],
    /// The variable whose value this one takes when it is not set itself.
    pub mirrors: Option<&'static str>,
    /// For a deprecated name: the variable that gets its value.
    pub replaced_by: Option<&'static str>,
    /// Never shown in clear text.
    pub secret: bool,
    /// As a user would write it.
    pub default: &'static str,
    /// One line.
    pub help: &'static str,
    /// What the parser accepts, for error messages.
    pub accepted: fn() -> String,
    /// Whether a text parses.
    pub check: fn(&str) -> bool,
    /// A flag that takes no value and has a `--no-` form.
    pub is_switch: bool,
    /// What stands between the items, if it is a list.
    pub list_separator: &'static str,
    /// Whether it does something yet.
    pub status: Status,
}

impl Declaration {
    /// The help text without the space that a doc comment leaves in front.
    pub fn help(&self) -> &'static str {
        self.help.trim()
    }

    /// Every spelling of the flag; each one of a switch is followed by its `--no-` form.
    pub fn flag_spellings(&self) -> Vec<String> {
        let spellings = self.flag.iter().chain(self.flag_aliases);
        spellings.flat_map(|flag| std::iter::once((*flag).to_owned()).chain(self.negation(flag))).collect()
    }

    fn negation(&self, flag: &str) -> Option<String> {
        let name = flag.strip_prefix("--")?;
        self.is_switch.then(|| format!("--no-{name}"))
    }
}

/// Every declaration, with the heading of its group.
pub fn declarations() -> impl Iterator<Item = (&'static str, &'static Declaration)> {
    groups().flat_map(|(heading, table)| table.iter().map(move |row| (heading, row)))
}

/// The groups with their headings, which are doc comments without the space and the period of one.
pub(crate) fn groups() -> impl Iterator<Item = (&'static str, &'static [Declaration])> {
    Settings::GROUPS.iter().map(|(heading, table)| (heading.trim().trim_end_matches('.'), *table))
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
