//! Settings of a run as stored with it: enough to resume it and to replay its calls.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::inventory::Inventory;
use menace_model::presets::{Preset, PresetError, SelectedPreset};
use menace_runner::{ArgumentSource, CallsPerCell, GivenStub, PlannedPreset, StressProfile};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Settings of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunSettings {
    /// The repository.
    pub repository: PathBuf,
    /// Patterns of excluded paths.
    pub exclude: Vec<String>,
    /// Paths of the called modules; empty for all.
    pub modules: Vec<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Timeout of a call in milliseconds.
    pub timeout_ms: u64,
    /// Python interpreter.
    pub python: String,
    /// The presets.
    pub presets: Vec<StoredPreset>,
    /// Given arguments.
    pub given: Vec<GivenStub>,
    /// Source of the other arguments.
    #[serde(default)]
    pub source: ArgumentSource,
    /// Digest of the plan, once the run is planned.
    pub digest: Option<String>,
    /// Fingerprints of the modules by path, when the run started.
    pub files: BTreeMap<String, String>,
    /// Maximum number of calls for shrinking one failure; `None` for no limit.
    #[serde(default)]
    pub shrinking: Option<usize>,
}

/// A preset as stored with a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredPreset {
    values: Map<String, Value>,
    modules: Option<Vec<String>>,
}

impl From<SelectedPreset> for StoredPreset {
    fn from(chosen: SelectedPreset) -> Self {
        Self { values: chosen.preset.values().clone(), modules: chosen.modules }
    }
}

impl StoredPreset {
    /// The preset.
    pub fn preset(&self) -> Result<Preset, PresetError> {
        Preset::new(self.values.clone())
    }

    /// Replaces the values of the preset, for the same modules.
    pub fn set_preset(&mut self, preset: &Preset) {
        self.values.clone_from(preset.values());
    }
}

impl RunSettings {
    /// Timeout of a call.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// The presets as stress profiles.
    pub fn planned_presets(&self) -> Result<Vec<PlannedPreset>, PresetError> {
        self.presets
            .iter()
            .map(|stored| {
                let preset = stored.preset()?;
                let circumstances = StressProfile::of(&preset, CallsPerCell::default());
                Ok(PlannedPreset { circumstances, modules: stored.modules.clone() })
            })
            .collect()
    }

    /// Paths of the files that changed since the run started.
    pub fn changed_files(&self) -> Vec<String> {
        let has_changed = |(path, before): &(&String, &String)| {
            fingerprint(&self.repository.join(path)).as_ref() != Some(before)
        };
        self.files.iter().filter(has_changed).map(|(path, _)| path.clone()).collect()
    }
}

/// Fingerprints of the modules of a repository, by path.
pub(crate) fn fingerprints(inventory: &Inventory) -> BTreeMap<String, String> {
    let root = Path::new(&inventory.root);
    let of = |path: &String| Some((path.clone(), fingerprint(&root.join(path))?));
    inventory.modules.iter().filter_map(|module| of(&module.path)).collect()
}

fn fingerprint(path: &Path) -> Option<String> {
    let content = std::fs::read(path).ok()?;
    Some(blake3::hash(&content).to_hex()[..16].to_owned())
}
