//! Paths of the repository, of menace's data and of its configuration.

use std::path::PathBuf;

settings! {
    /// Paths.
    pub struct GeneralSettings;

    /// Directory for histories, reports, databases and other state
    data_dir: PathBuf = "sandbox_data" {
        env: "SANDBOX_DATA_DIR",
        flag: "--data-dir",
        flag_aliases: ["--sandbox-data-dir"],
        status: Active,
    }

    /// Repository used when none is given on the command line
    repo_path: PathBuf = "." {
        env: "SANDBOX_REPO_PATH",
        status: Active,
    }

    /// YAML file with settings and keyword profiles
    settings_yaml: PathBuf = "sandbox_settings.yaml" {
        env: "SANDBOX_SETTINGS_YAML",
        status: Active,
    }

    /// Defer clean-up and the set-up of containers and virtual machines until they are used
    light_imports: bool = "0" {
        env: "MENACE_LIGHT_IMPORTS",
        status: Planned,
    }
}
