//! Arguments of the commands that read a repository, call its sections, or show earlier runs.

use std::path::PathBuf;

use clap::Args;
use menace_analysis::map::GroupingAlgorithm;
use menace_app::measure::MeasureRequest;
use menace_app::repository::ScanRequest;

use super::{JsonOutput, sandbox};

/// What to measure, and under what.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeasureOptions {
    #[command(flatten)]
    pub(crate) repository: RepositoryArguments,
    /// Only these files, from the root of the repository; can be repeated or separated by commas
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub(crate) modules: Vec<String>,
    /// What all chance comes from
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The interpreter; without it that of the repository (.venv, venv, uv, poetry, conda), else python3
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<String>,
    /// How many runs follow each other, each with the next seed and the next --preset-file
    #[arg(long, value_name = "COUNT")]
    pub(crate) runs: Option<usize>,
    /// Presets to run under; can be repeated, and the runs of --runs take turns
    #[arg(long, value_name = "FILE")]
    pub(crate) preset_file: Vec<PathBuf>,
    /// How many presets are made by chance, or at most taken from a file
    #[arg(long, value_name = "COUNT")]
    pub(crate) preset_count: Option<usize>,
    /// Add no presets to those that are given or made, but what they are compared with
    #[arg(long)]
    pub(crate) only_these_presets: bool,
    /// Add a line for each run to this file: its ROI, the forecast and the thresholds
    #[arg(long, value_name = "FILE")]
    pub(crate) forecast_log: Option<PathBuf>,
    /// How long a call may take, such as 5s or 500ms; without it 5s, and 2s where changes are proven by many more calls
    #[arg(long, value_parser = sandbox::duration)]
    pub(crate) timeout: Option<std::time::Duration>,
    /// How many rows each table shows at most; 0 shows all
    #[arg(long, default_value_t = 20, value_name = "ROWS")]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

/// How to call what is in a repository.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) measure: MeasureOptions,
    /// Go on with a run that was interrupted or whose process died
    #[arg(long, value_name = "RUN", conflicts_with_all = ["modules", "preset_file", "preset_count", "python", "runs"])]
    pub(crate) resume: Option<String>,
    /// Write a test of pytest for each failure into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) emit_tests: Option<PathBuf>,
}

/// What to show.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The run; without it the latest runs are listed
    pub(crate) run: Option<String>,
    /// List its calls
    #[arg(long)]
    pub(crate) calls: bool,
    /// Only calls that ended like this: ok, rejected, crash, timeout, oom, disk_full, denied, wrong, void …
    #[arg(long, requires = "calls", value_parser = kind)]
    pub(crate) kind: Option<menace_model::calls::OutcomeKind>,
    /// Only calls of this section, such as shop.cart:add
    #[arg(long, requires = "calls")]
    pub(crate) section: Option<String>,
    /// Only calls after this one
    #[arg(long, requires = "calls", value_name = "CALL")]
    pub(crate) after: Option<String>,
    /// How many rows each table shows at most; 0 shows all
    #[arg(long, default_value_t = 20, value_name = "ROWS")]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

fn kind(name: &str) -> Result<menace_model::calls::OutcomeKind, String> {
    use menace_model::calls::OutcomeKind;
    OutcomeKind::of_name(name).ok_or_else(|| {
        let known: Vec<&str> = OutcomeKind::ALL.into_iter().map(OutcomeKind::name).collect();
        format!("use one of {}", known.join(", "))
    })
}

/// What to read.
#[derive(Debug, Clone, Args)]
pub(crate) struct RepositoryArguments {
    /// The repository; without it SANDBOX_REPO_PATH, else the working directory
    #[arg(value_name = "REPO")]
    pub(crate) path: Option<PathBuf>,
    /// Read every file, whatever an earlier scan remembers
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Leave out paths that match this glob, such as 'vendor/*'; can be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
}

/// How to group modules.
#[derive(Debug, Args)]
pub(crate) struct ModuleGroupingArguments {
    /// louvain, greedy, label or hdbscan
    #[arg(long, alias = "module-algorithm", default_value_t = GroupingAlgorithm::Louvain)]
    pub(crate) algorithm: GroupingAlgorithm,
    /// Smallest similarity, 0 to 1, that relates modules
    #[arg(long, alias = "module-threshold", default_value_t = 0.1, value_name = "SHARE")]
    pub(crate) threshold: f64,
    /// Relate modules with similar docstrings too
    #[arg(long, alias = "module-semantic")]
    pub(crate) semantic: bool,
    /// Seed of everything random in the grouping
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

impl RepositoryArguments {
    /// The scan of this repository.
    pub(crate) fn scan(&self) -> ScanRequest {
        ScanRequest { path: self.path.clone(), no_cache: self.no_cache, exclude: self.exclude.clone() }
    }
}

impl MeasureOptions {
    /// The runs that these options request.
    pub(crate) fn request(&self) -> MeasureRequest {
        MeasureRequest {
            repository: self.repository.path.clone(),
            no_cache: self.repository.no_cache,
            exclude: self.repository.exclude.clone(),
            modules: self.modules.clone(),
            runs: self.runs,
            seed: self.seed,
            preset_files: self.preset_file.clone(),
            preset_count: self.preset_count,
            only_these_presets: self.only_these_presets,
            timeout: self.timeout,
            python: self.python.clone(),
            forecast_log: self.forecast_log.clone(),
        }
    }

    /// Number of rows that each table shows.
    pub(crate) fn rows(&self) -> usize {
        if self.top == 0 { usize::MAX } else { self.top }
    }
}
