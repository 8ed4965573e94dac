//! Arguments of the exporters, the trainer, and the recovery and audit commands.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::JsonOutput;
use super::sandbox::duration;

#[derive(Debug, Args)]
pub(crate) struct SynergyExporterArguments {
    /// Synergy history to read [default: synergy_history.db in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) history_file: Option<PathBuf>,
    /// Port to listen on, on this machine only; 0 picks a free one [default: SYNERGY_METRICS_PORT]
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Read the history again at most this often, such as 5s [default: on every request]
    #[arg(long, value_parser = duration)]
    pub(crate) interval: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct SynergyTrainerArguments {
    /// Synergy history to read [default: synergy_history.db in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) history_file: Option<PathBuf>,
    /// File to write the weights to [default: synergy_weights.json in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) weights_file: Option<PathBuf>,
    /// Time between two trainings, such as 10m or 600 (seconds) [default: AUTO_TRAIN_INTERVAL]
    #[arg(long, value_parser = duration)]
    pub(crate) interval: Option<Duration>,
    /// Train once and exit
    #[arg(long)]
    pub(crate) run_once: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecoveryArguments {
    /// Record to read [default: recovery.json in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check the hash chain of the audit trail; exit 1 if it was changed
    Verify {
        /// Audit trail to check [default: AUDIT_LOG_PATH, else audit.jsonl in the data directory]
        file: Option<PathBuf>,
        #[command(flatten)]
        output: JsonOutput,
    },
}
