//! The settings table.

use serde::Serialize;

use super::Settings;

/// Whether a setting has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingStatus {
    /// It has an effect.
    Active,
    /// Parsed and validated; its feature does not exist yet.
    Planned,
    /// A deprecated name that works with a warning.
    Deprecated,
}

/// Declaration of a setting.
#[derive(Debug, Clone, Copy)]
pub struct SettingDeclaration {
    /// Field in its group and key in the YAML file.
    pub key: &'static str,
    /// The environment variable.
    pub env: &'static str,
    /// The long flag, with its dashes.
    pub flag: Option<&'static str>,
    /// Other spellings of the flag.
    pub flag_aliases: &'static [&'static str],
    /// The variable whose value this one takes when it is not set itself.
    pub mirrors: Option<&'static str>,
    /// For a deprecated name: the variable that replaces it.
    pub replaced_by: Option<&'static str>,
    /// Never shown in clear text.
    pub secret: bool,
    /// Default, as a user would write it.
    pub default: &'static str,
    /// Help text of one line.
    pub help: &'static str,
    /// Description of the accepted values, for error messages.
    pub accepted: fn() -> String,
    /// Whether a text parses.
    pub check: fn(&str) -> bool,
    /// Whether the flag takes no value and has a `--no-` form.
    pub is_switch: bool,
    /// Separator of the items of a list.
    pub list_separator: &'static str,
    /// Whether it has an effect.
    pub status: SettingStatus,
}

impl SettingDeclaration {
    /// The help text without the leading space of a doc comment.
    pub fn help(&self) -> &'static str {
        self.help.trim()
    }

    /// All spellings of the flag; each spelling of a switch is followed by its `--no-` form.
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
pub fn declarations() -> impl Iterator<Item = (&'static str, &'static SettingDeclaration)> {
    groups().flat_map(|(heading, table)| table.iter().map(move |row| (heading, row)))
}

/// The groups with their headings: doc comments without the leading space and the final period.
pub(crate) fn groups() -> impl Iterator<Item = (&'static str, &'static [SettingDeclaration])> {
    Settings::GROUPS.iter().map(|(heading, table)| (heading.trim().trim_end_matches('.'), *table))
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
