//! Presets: environments of calls, as dictionaries that users write.

mod canonical;
mod generate;
mod keys;
mod preset;
mod read;
mod select;
mod suggestion;

pub use canonical::{CanonicalProfile, ProfileSeverity, canonical};
pub use generate::generate;
pub use preset::{FailureMode, Preset, PresetError};
pub use read::read;
pub use select::{PresetOrigin, PresetSelection, SelectedPreset, choose, default_keywords, keywords};
