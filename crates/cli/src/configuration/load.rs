//! Reads every source of settings and resolves them.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use menace_model::settings::{ResolvedSettings, SettingSource, Settings, SettingsLayer, resolve};

use super::error::ConfigurationError;
use super::flags::SettingFlags;
use super::yaml;

/// The resolved settings of this invocation.
pub(crate) struct Configuration {
    resolved: ResolvedSettings,
    unknown_yaml_keys: Vec<String>,
    yaml_path: PathBuf,
    keyword_profiles: Map<String, Value>,
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
        Ok(Self {
            resolved,
            unknown_yaml_keys: yaml.unknown_keys,
            yaml_path,
            keyword_profiles: yaml.keyword_profiles,
        })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.resolved.settings
    }

    pub(crate) fn resolved(&self) -> &ResolvedSettings {
        &self.resolved
    }

    /// `keyword_profiles` of `sandbox_settings.yaml`: words in paths of modules, and their profiles.
    pub(crate) fn keyword_profiles(&self) -> &Map<String, Value> {
        &self.keyword_profiles
    }

    /// Says what works but should be changed. Called once logging has started.
    pub(crate) fn warn(&self) {
        for warning in &self.resolved.warnings {
            tracing::warn!("{warning}");
        }
        for key in &self.unknown_yaml_keys {
            tracing::warn!("{}: {key} is no setting; `menace config` lists them", self.yaml_path.display());
        }
    }

    pub(crate) fn data_directory(&self) -> PathBuf {
        expand_home(&self.settings().general.data_dir)
    }

    /// Where the audit trail is.
    pub(crate) fn audit_path(&self) -> PathBuf {
        let chosen = self.settings().logging.audit_log_path.as_ref();
        chosen.map_or_else(|| self.data_directory().join("audit.jsonl"), |path| expand_home(path))
    }

    pub(crate) fn repository(&self, named: Option<&Path>) -> PathBuf {
        named.map_or_else(|| expand_home(&self.settings().general.repo_path), Path::to_path_buf)
    }
}

/// Variables that are not Unicode cannot be settings.
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

/// The YAML file, and whether the user chose it: a file that was chosen must be there.
fn yaml_path(resolved: &ResolvedSettings) -> (PathBuf, bool) {
    // A value that equals the default is no choice: `menace init` writes it into every `.env`.
    let is_chosen =
        resolved.rows.iter().any(|row| row.env == "SANDBOX_SETTINGS_YAML" && row.value != row.default);
    (expand_home(&resolved.settings.general.settings_yaml), is_chosen)
}

/// `~` and `~/…` as a shell would read them; values from `.env` and YAML never saw a shell.
fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.to_path_buf(),
    }
}
