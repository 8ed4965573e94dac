//! `menace dashboard`.

use std::path::PathBuf;

use clap::Args;

/// Options of the dashboards.
#[derive(Debug, Args)]
pub(crate) struct DashboardArguments {
    /// History to show [default: the one in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Port to listen on, on this machine only; 0 picks a free one
    #[arg(long, default_value_t = 8002)]
    pub(crate) port: u16,
}
