//! Context of every use case: the settings of this invocation and its front end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use menace_model::settings::Settings;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::events::{AppEvent, FrontEnd, SilentFrontEnd};

/// Settings and front end of an invocation.
#[derive(Clone)]
pub struct AppContext {
    settings: Settings,
    keyword_profiles: Map<String, Value>,
    front_end: Arc<dyn FrontEnd>,
}

impl AppContext {
    /// A context with these settings. `keyword_profiles` maps words in module paths to profiles.
    pub fn new(
        settings: Settings,
        keyword_profiles: Map<String, Value>,
        front_end: Arc<dyn FrontEnd>,
    ) -> Self {
        Self { settings, keyword_profiles, front_end }
    }

    /// A context that shows nothing.
    pub fn silent(settings: Settings) -> Self {
        Self::new(settings, Map::new(), Arc::<SilentFrontEnd>::default())
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// `keyword_profiles` of `sandbox_settings.yaml`.
    pub fn keyword_profiles(&self) -> &Map<String, Value> {
        &self.keyword_profiles
    }

    /// The data directory.
    pub fn data_directory(&self) -> PathBuf {
        expand_home(&self.settings.general.data_dir)
    }

    /// Path of the audit trail.
    pub fn audit_path(&self) -> PathBuf {
        let chosen = self.settings.logging.audit_log_path.as_ref();
        chosen.map_or_else(|| self.data_directory().join("audit.jsonl"), |path| expand_home(path))
    }

    /// The repository: the given path, or the one in the settings.
    pub fn repository(&self, given: Option<&Path>) -> PathBuf {
        given.map_or_else(|| expand_home(&self.settings.general.repo_path), Path::to_path_buf)
    }

    /// The front end.
    pub fn front_end(&self) -> &Arc<dyn FrontEnd> {
        &self.front_end
    }

    /// Reports an event to the front end.
    pub fn emit(&self, event: AppEvent) {
        self.front_end.event(event);
    }

    /// Becomes true when the user asks to stop.
    pub fn interruption(&self) -> watch::Receiver<bool> {
        self.front_end.interruption()
    }
}

/// Expands `~` and `~/…` as a shell does, for values from `.env` and YAML.
pub fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.to_path_buf(),
    }
}
