//! `menace dashboard`.

use std::path::PathBuf;

use clap::Args;

/// What is shown in a browser.
#[derive(Debug, Args)]
pub(crate) struct DashboardArguments {
    /// A history that is elsewhere; without it that of the data directory
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The port on this machine; 0 takes a free one
    #[arg(long, default_value_t = 8002)]
    pub(crate) port: u16,
}
