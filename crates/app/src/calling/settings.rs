//! How a run was asked for, as it is stored: enough to go on with it, and to make one of its calls again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::inventory::Inventory;
use menace_model::presets::{Preset, PresetError, SelectedPreset};
use menace_runner::{ArgumentSource, CallsPerCell, GivenStub, PlannedPreset, StressProfile};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a run was asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunSettings {
    /// The repository.
    pub repository: PathBuf,
    /// Patterns of paths that are left out.
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
    /// Arguments that were given.
    pub given: Vec<GivenStub>,
    /// Source of the other arguments.
    #[serde(default)]
    pub source: ArgumentSource,
    /// Tells its plan from others, once there is one.
    pub digest: Option<String>,
    /// What its files were.
    pub files: BTreeMap<String, String>,
    /// Calls that are spent on making the input of one failure smaller; nothing means as many as are of use.
    #[serde(default)]
    pub shrinking: Option<usize>,
}

/// A preset as it is stored.
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
    /// What it says.
    pub fn preset(&self) -> Result<Preset, PresetError> {
        Preset::new(self.values.clone())
    }

    /// Lets it say something else, about the same modules.
    pub fn set_preset(&mut self, preset: &Preset) {
        self.values.clone_from(preset.values());
    }
}

impl RunSettings {
    /// Timeout of a call.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// What is done to calls.
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

    /// The files that are not what they were when the run began.
    pub fn changed_files(&self) -> Vec<String> {
        let is_other = |(path, before): &(&String, &String)| {
            fingerprint(&self.repository.join(path)).as_ref() != Some(before)
        };
        self.files.iter().filter(is_other).map(|(path, _)| path.clone()).collect()
    }
}

/// What the modules of a repository are.
pub(crate) fn fingerprints(inventory: &Inventory) -> BTreeMap<String, String> {
    let root = Path::new(&inventory.root);
    let of = |path: &String| Some((path.clone(), fingerprint(&root.join(path))?));
    inventory.modules.iter().filter_map(|module| of(&module.path)).collect()
}

fn fingerprint(path: &Path) -> Option<String> {
    let content = std::fs::read(path).ok()?;
    Some(blake3::hash(&content).to_hex()[..16].to_owned())
}
