//! The arguments of what removes what is left.

use std::path::PathBuf;

use clap::Args;

/// How the hourly clean-up is installed.
#[derive(Debug, Args)]
pub(crate) struct InstallAutopurgeArguments {
    /// Show what would be installed, and install nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Write the units to this directory, and enable nothing
    #[arg(long, value_name = "DIR", conflicts_with = "print")]
    pub(crate) unit_dir: Option<PathBuf>,
    /// Replace units, or a line of the crontab, that somebody else has written
    #[arg(long)]
    pub(crate) force: bool,
}
