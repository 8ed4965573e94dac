//! Types shared by every menace crate: settings, the inventory of a repository, presets, calls, sandboxes, networks.
//!
//! Nothing here does IO and nothing here depends on a sibling crate, so every other crate may depend on it.
//!
//! ```
//! use menace_model::settings::{SettingSource, SettingsLayer, resolve};
//!
//! let environment = SettingsLayer::new(SettingSource::Environment, [("SANDBOX_MAX_RECURSION_DEPTH", "3")]);
//! let resolved = resolve(&[environment]).unwrap();
//! assert_eq!(resolved.settings.orphans.max_recursion_depth, Some(3));
//! ```

pub mod calls;
mod error_details;
pub mod faults;
pub mod harness;
pub mod ids;
pub mod inventory;
pub mod network;
pub mod patches;
pub mod pattern;
pub mod presets;
pub mod random;
pub mod runs;
pub mod sandbox;
pub mod settings;

pub use error_details::{ErrorClass, ErrorDetails};
