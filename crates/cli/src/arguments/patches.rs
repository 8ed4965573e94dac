//! `menace patches`.

use clap::{Args, Subcommand};

use super::JsonOutput;

#[derive(Debug, Subcommand)]
pub(crate) enum PatchesCommand {
    /// What a loop proposed, and what came of it
    List(PatchesListArguments),
    /// One patch: its conditions with their figures, and its diff
    Show {
        /// Its id, such as p_4f1c09a2b3c4d5e6
        patch: String,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Note that a patch that was kept turned out to be wrong; it counts against its module from then on
    Revert {
        /// Its id
        patch: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PatchesListArguments {
    /// The loop, such as r_01kbz7q3m9x4vt; without it the last one that proposed something
    pub(crate) run: Option<String>,
    /// Only those that were kept
    #[arg(long)]
    pub(crate) kept: bool,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}
