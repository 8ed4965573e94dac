//! Presets: environments of calls, as dictionaries that users write.

mod canonical;
mod generate;
mod keys;
mod nearest;
mod preset;
mod read;
mod select;

pub use canonical::{Profile, Severity, canonical};
pub use generate::generate;
pub use preset::{FailureMode, Preset, PresetError};
pub use read::read;
pub use select::{Choice, Chosen, Origin, choose, default_keywords, keywords};
