//! Arguments of `menace lab self-test`.

use std::path::PathBuf;

use clap::Args;
use menace_app::self_test::SelfTestRequest;

use super::JsonOutput;
use super::sandbox;

/// Options of `menace self-test`.
#[derive(Debug, Args)]
pub(crate) struct SelfTestArguments {
    /// Test only these modules (paths or import names) and their dependencies
    pub(crate) paths: Vec<String>,
    /// Repository [default: SANDBOX_REPO_PATH, else the working directory]
    #[arg(long, value_name = "PATH")]
    pub(crate) repo: Option<PathBuf>,
    /// Pause between repeated rounds, such as 10m [default: SELF_TEST_INTERVAL, else only one round]
    #[arg(long, value_parser = sandbox::duration)]
    pub(crate) interval: Option<std::time::Duration>,
    /// Time limit of a test file
    #[arg(long, default_value = "120s", value_parser = sandbox::duration)]
    pub(crate) timeout: std::time::Duration,
    /// Seed of every random choice
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Python interpreter [default: the one of the repository, else python3]
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
