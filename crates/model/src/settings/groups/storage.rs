//! Settings of the databases and of the place where patch scores are shared.

use std::path::PathBuf;

use crate::settings::{DatabaseUrl, ScoreBackendUrl};

settings! {
    /// Databases.
    pub struct StorageSettings;

    /// Address of the main database
    database_url: DatabaseUrl = "sqlite:///menace.db" {
        env: "DATABASE_URL",
        secret: true,
        status: Active,
    }

    /// Database with the registered bots
    bot_db_path: PathBuf = "bots.db" {
        env: "BOT_DB_PATH",
        status: Planned,
    }

    /// Database with the performance of bots over time
    bot_performance_db: PathBuf = "bot_performance_history.db" {
        env: "BOT_PERFORMANCE_DB",
        status: Planned,
    }

    /// Database with the maintenance log
    maintenance_db: PathBuf = "maintenance.db" {
        env: "MAINTENANCE_DB",
        status: Planned,
    }

    /// Remote store for patch scores; nothing means that they stay here
    patch_score_backend_url: Option<ScoreBackendUrl> = "" {
        env: "PATCH_SCORE_BACKEND_URL",
        secret: true,
        status: Active,
    }
}
