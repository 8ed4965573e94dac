//! Arguments of `menace lab presets`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::JsonOutput;

#[derive(Debug, Subcommand)]
pub(crate) enum PresetsCommand {
    /// Make presets, of named profiles or by chance
    Generate(PresetsGenerateArguments),
    /// List the canonical profiles with their severities
    List {
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Show a canonical profile or the presets of a file
    Show {
        /// The name of a profile, or a file
        name: String,
        #[command(flatten)]
        output: JsonOutput,
    },
}

/// Which presets to make.
#[derive(Debug, Args)]
pub(crate) struct PresetsGenerateArguments {
    /// Profiles, such as hostile_input high_latency_api; without them presets are made by chance
    #[arg(long, num_args = 1.., value_name = "PROFILE")]
    pub(crate) profiles: Vec<String>,
    /// How many: of each profile, or in all
    #[arg(long, default_value_t = 3)]
    pub(crate) count: usize,
    /// Write them to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// What chance comes from
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}
