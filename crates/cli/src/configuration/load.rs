//! Reads every source of settings and resolves them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use menace_app::{AppContext, expand_home};
use menace_model::settings::{ResolvedSettings, SettingSource, Settings, SettingsLayer, resolve};

use super::error::ConfigurationError;
use super::flags::SettingFlags;
use super::yaml;
use crate::terminal::TerminalFrontEnd;

/// The resolved settings of this invocation, and the context of its use cases.
pub(crate) struct Configuration {
    resolved: ResolvedSettings,
    context: AppContext,
    unknown_yaml_keys: Vec<String>,
    yaml_path: PathBuf,
}

impl Configuration {
    pub(crate) fn load(flags: &SettingFlags) -> anyhow::Result<Self> {
        let environment = SettingsLayer::new(SettingSource::Environment, environment_variables());
        let dot_env = SettingsLayer::new(SettingSource::DotEnv, dot_env_variables()?);
        let without_yaml = [flags.layer(), environment, dot_env];
        let (yaml_path, is_chosen) = yaml_path(&resolve(&without_yaml)?);
        let yaml = yaml::read(&yaml_path, is_chosen)?;
        let [flags, environment, dot_env] = without_yaml;
        let resolved = resolve(&[flags, environment, dot_env, yaml.layer])?;
        let front_end = Arc::new(TerminalFrontEnd::default());
        let context = AppContext::new(resolved.settings.clone(), yaml.keyword_profiles, front_end);
        Ok(Self { resolved, context, unknown_yaml_keys: yaml.unknown_keys, yaml_path })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.resolved.settings
    }

    pub(crate) fn resolved(&self) -> &ResolvedSettings {
        &self.resolved
    }

    /// Context of the use cases.
    pub(crate) fn app(&self) -> &AppContext {
        &self.context
    }

    /// Logs deprecated names and unknown keys. Called once logging has started.
    pub(crate) fn warn(&self) {
        for warning in &self.resolved.warnings {
            tracing::warn!("{warning}");
        }
        for key in &self.unknown_yaml_keys {
            tracing::warn!(
                "{}: {key} is not a setting; `menace config` lists them",
                self.yaml_path.display()
            );
        }
    }

    pub(crate) fn data_directory(&self) -> PathBuf {
        self.context.data_directory()
    }

    /// Path of the audit trail.
    pub(crate) fn audit_path(&self) -> PathBuf {
        self.context.audit_path()
    }

    /// Path of the repository: the given one, or that of the settings.
    pub(crate) fn repository(&self, given: Option<&Path>) -> PathBuf {
        self.context.repository(given)
    }
}

/// Environment variables; those that are not Unicode cannot be settings.
fn environment_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

fn dot_env_variables() -> Result<Vec<(String, String)>, ConfigurationError> {
    match dotenvy::from_path_iter(".env") {
        Ok(entries) => {
            entries.collect::<Result<_, _>>().map_err(|source| ConfigurationError::ParseDotEnv { source })
        }
        Err(error) if error.not_found() => Ok(Vec::new()),
        Err(source) => Err(ConfigurationError::ParseDotEnv { source }),
    }
}

/// Path of the YAML file, and whether the user chose it: a chosen file must exist.
fn yaml_path(resolved: &ResolvedSettings) -> (PathBuf, bool) {
    // A value that equals the default does not count as chosen: `menace init` writes it into every `.env`.
    let is_chosen =
        resolved.rows.iter().any(|row| row.env == "SANDBOX_SETTINGS_YAML" && row.value != row.default);
    (expand_home(&resolved.settings.general.settings_yaml), is_chosen)
}
