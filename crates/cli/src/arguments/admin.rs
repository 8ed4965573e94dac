//! `menace admin`: services, clean-up, audit. Each command also works without `admin`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    AuditCommand, InstallAutopurgeArguments, JsonOutput, RecoveryArguments, SynergyExporterArguments,
    SynergyTrainerArguments, UpArguments,
};

#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Start `auto` and its services, and restart them when they fail
    Up(UpArguments),
    /// Verify the audit trail
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Show how often runs were resumed, and the last failure
    Recovery(RecoveryArguments),
    /// Remove stale resources of killed runs: processes, cgroups, containers, volumes, overlays
    Cleanup(CleanupArguments),
    /// List menace's resources on this machine; exit 1 if any are stale
    CheckResources(JsonOutput),
    /// Install an hourly clean-up with systemd or cron
    InstallAutopurge(InstallAutopurgeArguments),
    /// Export synergy metrics to Prometheus
    SynergyExporter(SynergyExporterArguments),
    /// Retrain the synergy weights at an interval
    SynergyTrainer(SynergyTrainerArguments),
    /// Run the synergy exporter and trainer that the settings enable
    SynergyTools,
    /// Write man pages into a directory
    Man {
        /// Directory to write to; created if missing
        directory: PathBuf,
    },
}

impl AdminCommand {
    /// Whether the command runs unattended for a long time.
    pub(super) fn is_service(&self) -> bool {
        matches!(self, Self::Up(_) | Self::SynergyExporter(_) | Self::SynergyTrainer(_) | Self::SynergyTools)
    }
}

#[derive(Debug, Args)]
pub(crate) struct CleanupArguments {
    /// Keep recent overlays and sandboxes that the next server adopts
    #[arg(long)]
    pub(crate) stale_only: bool,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}
