//! Settings of QEMU virtual machines and their disk overlays.

use std::path::PathBuf;
use std::time::Duration;

use crate::settings::JsonText;

settings! {
    /// Virtual machines.
    pub struct VirtualMachineSettings;

    /// Disk images per system, memory and timeout of virtual machines, as a JSON object
    vm_settings: Option<JsonText> = "" {
        env: "VM_SETTINGS",
        status: Planned,
    }

    /// Age at which a stale disk overlay is removed
    overlay_max_age: Duration = "7d" {
        env: "SANDBOX_OVERLAY_MAX_AGE",
        status: Active,
    }

    /// Maximum number of overlays, above which the oldest are removed; 0 means no limit
    max_overlay_count: usize = "0" {
        env: "SANDBOX_MAX_OVERLAY_COUNT",
        status: Active,
    }

    /// File that lists overlays in use; if unset, a file in the data directory
    active_overlays: Option<PathBuf> = "" {
        env: "SANDBOX_ACTIVE_OVERLAYS",
        status: Active,
    }

    /// File that lists overlays whose removal failed; if unset, a file in the data directory
    failed_overlays: Option<PathBuf> = "" {
        env: "SANDBOX_FAILED_OVERLAYS",
        status: Active,
    }
}
