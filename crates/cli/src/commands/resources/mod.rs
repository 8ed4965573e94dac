//! Stale resources of killed runs: check, clean-up, and hourly clean-up.

mod autopurge;
mod check;
mod clean_up;
mod engine;
mod last;

pub(crate) use autopurge::run as install_autopurge;
pub(crate) use check::run as check_resources;
pub(crate) use clean_up::{CleanUpScope, run as clean_up};

use std::path::PathBuf;

use menace_sandbox::overlays::{OverlayOptions, OverlayRegistry};

use crate::configuration::Configuration;

/// Overlays of the virtual machines of the data directory.
pub(in crate::commands) fn overlays(configuration: &Configuration) -> OverlayRegistry {
    let data = configuration.data_directory();
    let settings = &configuration.settings().virtual_machine;
    let at = |path: &Option<PathBuf>, default: &str| path.clone().unwrap_or_else(|| data.join(default));
    OverlayRegistry::new(OverlayOptions {
        directory: data.join("overlays"),
        active: at(&settings.active_overlays, "active_overlays.json"),
        failed: at(&settings.failed_overlays, "failed_overlays.json"),
        max_age: settings.overlay_max_age,
        most: settings.max_overlay_count,
    })
}
