//! The arguments of exporters, trainers and of what looks after them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::JsonOutput;
use super::sandbox::duration;

#[derive(Debug, Args)]
pub(crate) struct SynergyExporterArguments {
    /// synergy_history.db; without it that of the data directory
    #[arg(long, value_name = "FILE")]
    pub(crate) history_file: Option<PathBuf>,
    /// The port on this machine; without it SYNERGY_METRICS_PORT, 0 takes a free one
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Look at the file again after so long at the earliest, such as 5s; without it each time somebody asks
    #[arg(long, value_parser = duration)]
    pub(crate) interval: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct SynergyTrainerArguments {
    /// synergy_history.db; without it that of the data directory
    #[arg(long, value_name = "FILE")]
    pub(crate) history_file: Option<PathBuf>,
    /// Where weights are kept; without it synergy_weights.json of the data directory
    #[arg(long, value_name = "FILE")]
    pub(crate) weights_file: Option<PathBuf>,
    /// Learn again after so long, such as 10m or 600; without it AUTO_TRAIN_INTERVAL
    #[arg(long, value_parser = duration)]
    pub(crate) interval: Option<Duration>,
    /// Learn once and end
    #[arg(long)]
    pub(crate) run_once: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecoveryArguments {
    /// recovery.json; without it that of the data directory
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Whether the trail is as it was written; exit code 1 if it was changed
    Verify {
        /// The trail; without it AUDIT_LOG_PATH, else audit.jsonl of the data directory
        file: Option<PathBuf>,
        #[command(flatten)]
        output: JsonOutput,
    },
}
