//! Arguments of `menace lab presets`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::JsonOutput;

#[derive(Debug, Subcommand)]
pub(crate) enum PresetsCommand {
    /// Generate presets from named profiles, or random ones
    Generate(PresetsGenerateArguments),
    /// List the canonical profiles with their severities
    List {
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Show a canonical profile or the presets of a file
    Show {
        /// Name of a profile, or a file with presets
        name: String,
        #[command(flatten)]
        output: JsonOutput,
    },
}

/// Options of `menace presets generate`.
#[derive(Debug, Args)]
pub(crate) struct PresetsGenerateArguments {
    /// Profiles, such as hostile_input high_latency_api [default: random presets]
    #[arg(long, num_args = 1.., value_name = "PROFILE")]
    pub(crate) profiles: Vec<String>,
    /// Number of presets per profile, or in total without --profiles
    #[arg(long, default_value_t = 3)]
    pub(crate) count: usize,
    /// Write the presets to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}
