//! Arguments of the commands that read a repository, call its sections, or show earlier runs.

use std::path::PathBuf;

use clap::Args;
use menace_analysis::map::GroupingAlgorithm;
use menace_app::measure::MeasureRequest;
use menace_app::repository::ScanRequest;

use super::{JsonOutput, sandbox};

/// Options of the commands that call the functions of a repository.
#[derive(Debug, Clone, Args)]
pub(crate) struct MeasureOptions {
    #[command(flatten)]
    pub(crate) repository: RepositoryArguments,
    /// Call only functions in these files, relative to the repository; can be repeated or separated by commas
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub(crate) modules: Vec<String>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Python interpreter [default: the one of the repository (.venv, venv, uv, poetry, conda), else python3]
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<String>,
    /// Number of runs; each uses the next seed and the next --preset-file
    #[arg(long, value_name = "COUNT")]
    pub(crate) runs: Option<usize>,
    /// File with presets to run under; can be repeated, then the runs of --runs rotate through the files
    #[arg(long, value_name = "FILE")]
    pub(crate) preset_file: Vec<PathBuf>,
    /// Number of presets to generate, or the most to take from a file
    #[arg(long, value_name = "COUNT")]
    pub(crate) preset_count: Option<usize>,
    /// Use only the given or generated presets and the baseline that they are compared with
    #[arg(long)]
    pub(crate) only_these_presets: bool,
    /// Append the ROI, forecast and thresholds of each run to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) forecast_log: Option<PathBuf>,
    /// Time limit of a call, such as 5s or 500ms [default: 5s, and 2s for the calls that verify a patch]
    #[arg(long, value_parser = sandbox::duration)]
    pub(crate) timeout: Option<std::time::Duration>,
    /// Rows per table; 0 shows all
    #[arg(long, default_value_t = 20, value_name = "ROWS")]
    pub(crate) top: usize,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

/// Options of `menace run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) measure: MeasureOptions,
    /// Resume a run that was interrupted or whose process died
    #[arg(long, value_name = "RUN", conflicts_with_all = ["modules", "preset_file", "preset_count", "python", "runs"])]
    pub(crate) resume: Option<String>,
    /// Write a pytest test for each failure to this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) emit_tests: Option<PathBuf>,
}

/// Options of `menace show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Run to show; without it, the latest runs are listed
    pub(crate) run: Option<String>,
    /// List the calls of the run
    #[arg(long)]
    pub(crate) calls: bool,
    /// List only calls with this outcome: ok, rejected, crash, timeout, oom, disk_full, denied, wrong, void …
    #[arg(long, requires = "calls", value_parser = kind)]
    pub(crate) kind: Option<menace_model::calls::OutcomeKind>,
    /// List only calls of this section, such as shop.cart:add
    #[arg(long, requires = "calls")]
    pub(crate) section: Option<String>,
    /// List only calls after this one
    #[arg(long, requires = "calls", value_name = "CALL")]
    pub(crate) after: Option<String>,
    /// Rows per table; 0 shows all
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

/// The repository and how to read it.
#[derive(Debug, Clone, Args)]
pub(crate) struct RepositoryArguments {
    /// Repository [default: SANDBOX_REPO_PATH, else the working directory]
    #[arg(value_name = "REPO")]
    pub(crate) path: Option<PathBuf>,
    /// Read every file again instead of using the scan cache
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Exclude paths that match this glob, such as 'vendor/*'; can be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
}

/// Options for grouping modules.
#[derive(Debug, Args)]
pub(crate) struct ModuleGroupingArguments {
    /// Grouping algorithm: louvain, greedy, label or hdbscan
    #[arg(long, alias = "module-algorithm", default_value_t = GroupingAlgorithm::Louvain)]
    pub(crate) algorithm: GroupingAlgorithm,
    /// Smallest similarity that connects two modules, 0 to 1
    #[arg(long, alias = "module-threshold", default_value_t = 0.1, value_name = "SHARE")]
    pub(crate) threshold: f64,
    /// Also connect modules with similar docstrings
    #[arg(long, alias = "module-semantic")]
    pub(crate) semantic: bool,
    /// Seed of every random choice
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
