//! Settings that say where menace finds the repository, its data and its configuration.

use std::path::PathBuf;

settings! {
    /// Where things are.
    pub struct GeneralSettings;

    /// Directory for histories, reports, databases and other state
    data_dir: PathBuf = "sandbox_data" {
        env: "SANDBOX_DATA_DIR",
        flag: "--data-dir",
        flag_aliases: ["--sandbox-data-dir"],
        status: Active,
    }

    /// Checkout that is analysed when no repository is named on the command line
    repo_path: PathBuf = "." {
        env: "SANDBOX_REPO_PATH",
        status: Active,
    }

    /// YAML file with settings and keyword profiles
    settings_yaml: PathBuf = "sandbox_settings.yaml" {
        env: "SANDBOX_SETTINGS_YAML",
        status: Active,
    }

    /// Leave out the clean-up and the container and VM set-up at start until something needs them
    light_imports: bool = "0" {
        env: "MENACE_LIGHT_IMPORTS",
        status: Planned,
    }
}
