//! Arguments of `menace lab self-test`.

use std::path::PathBuf;

use clap::Args;
use menace_app::self_test::SelfTestRequest;

use super::JsonOutput;
use super::sandbox;

/// What to test.
#[derive(Debug, Args)]
pub(crate) struct SelfTestArguments {
    /// Only these modules, by path or as Python imports them, and what they need
    pub(crate) paths: Vec<String>,
    /// The repository; without it SANDBOX_REPO_PATH, else the working directory
    #[arg(long, value_name = "PATH")]
    pub(crate) repo: Option<PathBuf>,
    /// Begin again so long after each round, such as 10m; without it SELF_TEST_INTERVAL, else one round
    #[arg(long, value_parser = sandbox::duration)]
    pub(crate) interval: Option<std::time::Duration>,
    /// How long a file of tests may take
    #[arg(long, default_value = "120s", value_parser = sandbox::duration)]
    pub(crate) timeout: std::time::Duration,
    /// What all chance comes from
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The interpreter; without it that of the repository, else python3
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<String>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

impl SelfTestArguments {
    /// The round that these arguments request.
    pub(crate) fn request(&self) -> SelfTestRequest {
        SelfTestRequest {
            repository: self.repo.clone(),
            paths: self.paths.clone(),
            timeout: self.timeout,
            seed: self.seed,
            python: self.python.clone(),
        }
    }
}
