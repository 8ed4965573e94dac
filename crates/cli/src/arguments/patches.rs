//! `menace patches`.

use clap::{Args, Subcommand};

use super::JsonOutput;

#[derive(Debug, Subcommand)]
pub(crate) enum PatchesCommand {
    /// List the patches of a run and their verdicts
    List(PatchesListArguments),
    /// Show the diff of a patch and the conditions of its verdict
    Show {
        /// Id of the patch, such as p_4f1c09a2b3c4d5e6
        patch: String,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Mark a kept patch as reverted; it then counts against its module
    Revert {
        /// Id of the patch
        patch: String,
        /// Reason for the revert
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PatchesListArguments {
    /// Run, such as r_01kbz7q3m9x4vt [default: the latest run with proposals]
    pub(crate) run: Option<String>,
    /// List only kept patches
    #[arg(long)]
    pub(crate) kept: bool,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}
