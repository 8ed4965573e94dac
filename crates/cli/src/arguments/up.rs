//! `menace up`.

use std::path::PathBuf;

use clap::Args;

/// Options of `menace up`.
#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    /// Repository to improve [default: SANDBOX_REPO_PATH, else the working directory]
    pub(crate) repository: Option<PathBuf>,
    /// Port of the API and the dashboard
    #[arg(long, default_value_t = 8888)]
    pub(crate) port: u16,
    /// Do not serve the API and the dashboard
    #[arg(long)]
    pub(crate) no_serve: bool,
    /// Do not start `auto`, only the services
    #[arg(long)]
    pub(crate) no_loop: bool,
}
