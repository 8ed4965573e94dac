//! `menace up`.

use std::path::PathBuf;

use clap::Args;

/// What runs.
#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    /// The repository that is improved; without it SANDBOX_REPO_PATH, else the working directory
    pub(crate) repository: Option<PathBuf>,
    /// The port of the API and the dashboard
    #[arg(long, default_value_t = 8888)]
    pub(crate) port: u16,
    /// No API and no dashboard
    #[arg(long)]
    pub(crate) no_serve: bool,
    /// No loop: only the services
    #[arg(long)]
    pub(crate) no_loop: bool,
}
