//! Arguments of `menace install-autopurge`.

use std::path::PathBuf;

use clap::Args;

/// Options of `menace install-autopurge`.
#[derive(Debug, Args)]
pub(crate) struct InstallAutopurgeArguments {
    /// Print what would be installed, and install nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Write the systemd units to this directory, and do not enable them
    #[arg(long, value_name = "DIR", conflicts_with = "print")]
    pub(crate) unit_dir: Option<PathBuf>,
    /// Overwrite units or a crontab line that menace did not write
    #[arg(long)]
    pub(crate) force: bool,
}
