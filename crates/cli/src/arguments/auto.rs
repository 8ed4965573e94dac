//! `menace auto` and `menace run-complete`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use menace_app::improve::{AutoRequest, RecoverTarget};

use super::{MeasureOptions, sandbox};

/// Options of `menace auto`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AutoArguments {
    #[command(flatten)]
    pub(crate) measure: MeasureOptions,
    /// Stop before the run takes longer than this, such as 30m or 90s
    #[arg(long, value_name = "TIME", value_parser = sandbox::duration)]
    pub(crate) max_time: Option<Duration>,
    /// Stop before models cost more than this
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) max_cost: Option<f64>,
    /// Stop before models use more tokens than this
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_tokens: Option<u64>,
    /// Stop after this many cycles
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_iterations: Option<usize>,
    /// Also keep patches that change what a function returns
    #[arg(long)]
    pub(crate) allow_behaviour_change: bool,
    /// Resume a run that was interrupted or whose process died [default: the latest one]
    #[arg(long, value_name = "RUN", num_args = 0..=1, conflicts_with_all = ["modules", "preset_file", "preset_count", "python", "runs"])]
    #[expect(clippy::option_option, reason = "the flag can be absent, present, or present with a run")]
    pub(crate) recover: Option<Option<String>>,
    /// Append each decision that adapts a preset to this file, instead of printing it as --preset-debug does
    #[arg(long, value_name = "FILE")]
    pub(crate) debug_log_file: Option<PathBuf>,
    /// Write report.html and report.json to this directory [default: a directory in the data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,
}

/// Options of `menace run-complete`.
#[derive(Debug, Args)]
pub(crate) struct RunCompleteArguments {
    /// File with the presets to run under
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
