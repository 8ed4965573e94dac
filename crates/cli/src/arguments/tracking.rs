//! Arguments of the commands that read histories.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::JsonOutput;

#[derive(Debug, Subcommand)]
pub(crate) enum RoiCommand {
    /// Forecast the next ROI with an interval, and show how accurate past forecasts were
    Forecast(ForecastArguments),
    /// Rank modules by risk-adjusted ROI and its confidence
    Rank {
        #[command(flatten)]
        history: HistoryFileArguments,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Show how reliable the forecasts of past runs were
    Reliability {
        #[command(flatten)]
        history: HistoryFileArguments,
        /// Metric, such as security_score or roi
        #[arg(long, default_value = "roi")]
        metric: String,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Forecast the next value of a metric
    PredictMetric {
        /// History: roi_history.json, or a directory that contains it
        file: PathBuf,
        /// Metric, such as projected_lucrativity or synergy_roi
        metric: String,
        #[command(flatten)]
        output: JsonOutput,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ForecastArguments {
    #[command(flatten)]
    pub(crate) history: HistoryFileArguments,
    /// Number of cycles to forecast
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) horizon: u16,
    /// Confidence level of the intervals, 0 to 1
    #[arg(long, default_value_t = 0.9)]
    pub(crate) confidence: f64,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryFileArguments {
    /// History: roi_history.json, or a directory that contains it [default: the data directory]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RankScenariosArguments {
    /// Histories: roi_history.json files, or directories that contain one
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
pub(crate) struct RankSynergyArguments {
    /// Histories: roi_history.json files, or directories that contain one
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Kind of synergy: roi, security_score, revenue, …
    #[arg(long, default_value = "roi")]
    pub(crate) metric: String,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
pub(crate) struct SynergyMetricsArguments {
    /// History: roi_history.json, or a directory that contains it [default: the data directory]
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
    /// Number of values in the moving average
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) window: u16,
    /// Draw a bar chart in the terminal, or write it to FILE (.svg or .png)
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "the flag can be absent, present, or present with a file")]
    pub(crate) plot: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SynergyCommand {
    /// Show the weights of the seven kinds of synergy
    Show(JsonOutput),
    /// Train the weights on the history
    Train(JsonOutput),
    /// Write the weights to a file
    Export {
        /// File to write
        file: PathBuf,
    },
    /// Replace the weights with those of a file
    Import {
        /// File to read
        file: PathBuf,
    },
    /// Reset all weights to the same value
    Reset,
    /// Show how the weights changed
    History(JsonOutput),
}

#[derive(Debug, Subcommand)]
pub(crate) enum TruthCommand {
    /// Train the model on the history
    Retrain {
        #[command(flatten)]
        history: HistoryFileArguments,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Show the predicted ROI of the next cycle and whether the prediction is reliable
    Show {
        #[command(flatten)]
        history: HistoryFileArguments,
        #[command(flatten)]
        output: JsonOutput,
    },
}
