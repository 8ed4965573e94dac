//! Resolution of settings: from layers of text (flags, environment, files) to typed values with their source.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use thiserror::Error;

use super::text_values::MASK;
use super::{SettingDeclaration, SettingStatus, Settings, declarations};
use crate::{ErrorClass, ErrorDetails};

/// Source of a value, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingSource {
    /// A flag on the command line.
    Flag,
    /// The process environment.
    Environment,
    /// `.env` in the working directory.
    DotEnv,
    /// `sandbox_settings.yaml`.
    Yaml,
    /// The default in the settings table.
    Default,
}

impl fmt::Display for SettingSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::DotEnv => ".env",
            Self::Yaml => "yaml",
            Self::Default => "default",
        })
    }
}

/// Values from one source, by environment variable.
#[derive(Clone)]
pub struct SettingsLayer {
    source: SettingSource,
    values: BTreeMap<String, String>,
}

impl SettingsLayer {
    /// A layer of `(variable, value)` pairs. [`resolve`] ignores names that are not settings.
    pub fn new<K: Into<String>, V: Into<String>>(
        source: SettingSource,
        values: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self { source, values: values.into_iter().map(|(key, value)| (key.into(), value.into())).collect() }
    }
}

/// Shows only the names: the values may contain secrets.
impl fmt::Debug for SettingsLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.values.keys().collect();
        formatter.debug_struct("SettingsLayer").field("source", &self.source).field("names", &names).finish()
    }
}

/// A value that does not parse.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("invalid value {value:?} for {variable} from {source_name}")]
pub struct SettingsError {
    /// The variable.
    pub variable: &'static str,
    /// The rejected value.
    pub value: String,
    /// Its source: `environment`, `.env`, …
    pub source_name: String,
    /// Description of the accepted values.
    pub accepted: String,
}

impl ErrorDetails for SettingsError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(format!("{} takes {}", self.variable, self.accepted))
    }
}

/// A warning about settings that are valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsWarning {
    /// A deprecated name was used.
    Deprecated {
        /// The old name.
        name: &'static str,
        /// The name to use instead.
        replaced_by: &'static str,
    },
}

impl fmt::Display for SettingsWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deprecated { name, replaced_by } => {
                write!(formatter, "{name} is deprecated; use {replaced_by} instead")
            }
        }
    }
}

/// A setting with its value and source.
#[derive(Debug, Clone, Serialize)]
pub struct SettingRow {
    /// The environment variable.
    pub env: &'static str,
    /// The flag, if there is one.
    pub flag: Option<&'static str>,
    /// The value, as text; secrets are masked.
    pub value: String,
    /// Source of the value; for a mirrored value also the variable that set it.
    pub source: String,
    /// Kind of the source.
    #[serde(skip)]
    pub origin: SettingSource,
    /// The default, as text.
    pub default: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Whether it has an effect.
    pub status: SettingStatus,
    /// The key in the YAML file.
    pub key: &'static str,
    /// The heading of its group.
    pub group: &'static str,
}

/// All settings, typed and with their sources.
#[derive(Debug, Clone)]
pub struct ResolvedSettings {
    /// The typed values.
    pub settings: Settings,
    /// Every setting, in table order.
    pub rows: Vec<SettingRow>,
    /// Deprecated names in use.
    pub warnings: Vec<SettingsWarning>,
}

/// Resolves every setting from the layers; earlier sources in [`SettingSource`] win, independent of the order of `layers`.
pub fn resolve(layers: &[SettingsLayer]) -> Result<ResolvedSettings, SettingsError> {
    let lookup = SettingLookup::new(layers);
    let mut chosen = BTreeMap::new();
    let mut rows = Vec::new();
    let mut warnings = Vec::new();
    for (group, declaration) in declarations() {
        let found = lookup.value_of(declaration);
        if !(declaration.check)(&found.text) {
            return Err(SettingsError {
                variable: found.variable,
                value: masked(declaration, &found.text),
                source_name: found.source.to_string(),
                accepted: (declaration.accepted)(),
            });
        }
        if let (Some(replaced_by), true) = (declaration.replaced_by, found.source != SettingSource::Default) {
            warnings.push(SettingsWarning::Deprecated { name: declaration.env, replaced_by });
        }
        rows.push(SettingRow {
            env: declaration.env,
            flag: declaration.flag,
            value: masked(declaration, &found.text),
            source: found.describe(declaration),
            origin: found.source,
            default: declaration.default,
            help: declaration.help(),
            status: declaration.status,
            key: declaration.key,
            group,
        });
        chosen.insert(declaration.env, found.text);
    }
    let settings = Settings::from_checked(&|env| chosen[env].clone());
    Ok(ResolvedSettings { settings, rows, warnings })
}

/// Masks a secret. The default of a secret is documented and not masked.
fn masked(declaration: &SettingDeclaration, text: &str) -> String {
    if declaration.secret && text != declaration.default { MASK.into() } else { text.to_owned() }
}

struct RawSetting {
    text: String,
    source: SettingSource,
    variable: &'static str,
}

impl RawSetting {
    fn describe(&self, declaration: &SettingDeclaration) -> String {
        if self.variable == declaration.env || self.source == SettingSource::Default {
            self.source.to_string()
        } else {
            format!("{} ({})", self.source, self.variable)
        }
    }
}

struct SettingLookup<'a> {
    layers: Vec<&'a SettingsLayer>,
}

impl<'a> SettingLookup<'a> {
    fn new(layers: &'a [SettingsLayer]) -> Self {
        let mut layers: Vec<&SettingsLayer> = layers.iter().collect();
        layers.sort_by_key(|layer| layer.source);
        Self { layers }
    }

    /// The value from the strongest source that has one under any of the setting's names.
    ///
    /// The source decides before the name does, so that a flag reaches the settings that mirror it even when a
    /// generated `.env` names them, and an old name in the environment is not undone by a new one in a file.
    fn value_of(&self, declaration: &SettingDeclaration) -> RawSetting {
        let names = names(declaration);
        self.layers.iter().find_map(|layer| first_set(layer, &names)).unwrap_or_else(|| RawSetting {
            text: declaration.default.to_owned(),
            source: SettingSource::Default,
            variable: declaration.env,
        })
    }
}

fn first_set(layer: &SettingsLayer, names: &[&'static str]) -> Option<RawSetting> {
    names.iter().find_map(|&variable| {
        let text = layer.values.get(variable)?.clone();
        Some(RawSetting { text, source: layer.source, variable })
    })
}

/// The names from which a setting takes its value, strongest first: its own and the mirrored one, each followed by its
/// deprecated names.
fn names(declaration: &SettingDeclaration) -> Vec<&'static str> {
    std::iter::once(declaration.env)
        .chain(declaration.mirrors)
        .flat_map(|name| std::iter::once(name).chain(old_names(name)))
        .collect()
}

fn old_names(name: &'static str) -> impl Iterator<Item = &'static str> {
    declarations().filter(move |(_, other)| other.replaced_by == Some(name)).map(|(_, other)| other.env)
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
