//! Settings of the databases and of the shared store of patch scores.

use std::path::PathBuf;

use crate::settings::{DatabaseUrl, ScoreBackendUrl};

settings! {
    /// Databases.
    pub struct StorageSettings;

    /// URL of the main database
    database_url: DatabaseUrl = "sqlite:///menace.db" {
        env: "DATABASE_URL",
        secret: true,
        status: Active,
    }

    /// Database of registered bots
    bot_db_path: PathBuf = "bots.db" {
        env: "BOT_DB_PATH",
        status: Planned,
    }

    /// Database of bot performance over time
    bot_performance_db: PathBuf = "bot_performance_history.db" {
        env: "BOT_PERFORMANCE_DB",
        status: Planned,
    }

    /// Database of the maintenance log
    maintenance_db: PathBuf = "maintenance.db" {
        env: "MAINTENANCE_DB",
        status: Planned,
    }

    /// URL of a remote store of patch scores; if unset, they stay on this machine
    patch_score_backend_url: Option<ScoreBackendUrl> = "" {
        env: "PATCH_SCORE_BACKEND_URL",
        secret: true,
        status: Active,
    }
}
