//! The arguments of commands that ask histories.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::JsonOutput;

#[derive(Debug, Subcommand)]
pub(crate) enum RoiCommand {
    /// What the ROI will be next, with an interval, and how such forecasts did
    Forecast(ForecastArguments),
    /// Modules by their risk-adjusted ROI and how sure it is
    Rank {
        #[command(flatten)]
        history: HistoryFileArguments,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// How reliable the forecasts were that runs made
    Reliability {
        #[command(flatten)]
        history: HistoryFileArguments,
        /// A metric such as security_score, or roi
        #[arg(long, default_value = "roi")]
        metric: String,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// What a metric will be next
    PredictMetric {
        /// roi_history.json, or a directory that has one
        file: PathBuf,
        /// A metric such as projected_lucrativity or synergy_roi
        metric: String,
        #[command(flatten)]
        output: JsonOutput,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ForecastArguments {
    #[command(flatten)]
    pub(crate) history: HistoryFileArguments,
    /// How many cycles ahead
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) horizon: u16,
    /// The share of cases in which a value is in its interval, such as 0.9
    #[arg(long, default_value_t = 0.9)]
    pub(crate) confidence: f64,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryFileArguments {
    /// roi_history.json, or a directory that has one; without it that of the data directory
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RankScenariosArguments {
    /// roi_history.json files, or directories that have one
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
pub(crate) struct RankSynergyArguments {
    /// roi_history.json files, or directories that have one
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// The kind of synergy: roi, security_score, revenue, …
    #[arg(long, default_value = "roi")]
    pub(crate) metric: String,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
pub(crate) struct SynergyMetricsArguments {
    /// roi_history.json, or a directory that has one; without it that of the data directory
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
    /// The length of the moving average
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) window: u16,
    /// Draw bars here, or into a file that ends in .svg or .png
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "not asked for, asked for, and with a file")]
    pub(crate) plot: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SynergyCommand {
    /// The weights of the seven kinds of synergy
    Show(JsonOutput),
    /// Learn the weights from the history
    Train(JsonOutput),
    /// Write the weights into a file
    Export {
        /// The file
        file: PathBuf,
    },
    /// Take the weights of a file
    Import {
        /// The file
        file: PathBuf,
    },
    /// Weigh everything alike again
    Reset,
    /// How the weights came to be
    History(JsonOutput),
}

#[derive(Debug, Subcommand)]
pub(crate) enum TruthCommand {
    /// Learn from the history how forecasts become what is really seen
    Retrain {
        #[command(flatten)]
        history: HistoryFileArguments,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// What the model says about the next cycle, and whether that can be relied on
    Show {
        #[command(flatten)]
        history: HistoryFileArguments,
        #[command(flatten)]
        output: JsonOutput,
    },
}
