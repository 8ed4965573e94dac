//! `menace auto` and `menace run-complete`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use menace_app::improve::{AutoRequest, RecoverTarget};

use super::{MeasureOptions, sandbox};

/// The autonomous loop.
#[derive(Debug, Clone, Args)]
pub(crate) struct AutoArguments {
    #[command(flatten)]
    pub(crate) measure: MeasureOptions,
    /// End before this much time is spent, such as 30m or 90s
    #[arg(long, value_name = "TIME", value_parser = sandbox::duration)]
    pub(crate) max_time: Option<Duration>,
    /// End before this much money is spent on models
    #[arg(long, value_name = "MONEY")]
    pub(crate) max_cost: Option<f64>,
    /// End before this many tokens of models are spent
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_tokens: Option<u64>,
    /// End after this many cycles
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_iterations: Option<usize>,
    /// Keep changes although something else is returned than before
    #[arg(long)]
    pub(crate) allow_behaviour_change: bool,
    /// Go on with a run that was interrupted or whose process died; without a name the last one
    #[arg(long, value_name = "RUN", num_args = 0..=1, conflicts_with_all = ["modules", "preset_file", "preset_count", "python", "runs"])]
    #[expect(clippy::option_option, reason = "the flag can be missing, be there, or be there with a name")]
    pub(crate) recover: Option<Option<String>>,
    /// Add each decision that adapts a preset to this file, instead of showing it as --preset-debug does
    #[arg(long, value_name = "FILE")]
    pub(crate) debug_log_file: Option<PathBuf>,
    /// Write report.html and report.json here; without it below the data directory
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,
}

/// The loop under presets of a file.
#[derive(Debug, Args)]
pub(crate) struct RunCompleteArguments {
    /// Presets to run under
    #[arg(value_name = "PRESETS")]
    pub(crate) presets: PathBuf,
    #[command(flatten)]
    pub(crate) auto: AutoArguments,
}

impl AutoArguments {
    /// The run that these arguments request.
    pub(crate) fn request(&self) -> AutoRequest {
        AutoRequest {
            measure: self.measure.request(),
            max_time: self.max_time,
            max_cost: self.max_cost,
            max_tokens: self.max_tokens,
            max_iterations: self.max_iterations,
            allow_behaviour_change: self.allow_behaviour_change,
            recover: self
                .recover
                .as_ref()
                .map(|id| id.clone().map_or(RecoverTarget::Last, RecoverTarget::Id)),
            adaptation_log: self.debug_log_file.clone(),
            report: self.report.clone(),
        }
    }
}
