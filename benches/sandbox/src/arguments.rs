//! Arguments of the benchmark.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::error::BenchmarkError;

/// Measure sandboxes and print JSON
#[derive(Debug, Parser)]
pub(crate) struct BenchmarkArguments {
    /// Binary `menace` that launches the sandboxes
    #[arg(long, value_name = "PATH")]
    pub(crate) menace: PathBuf,
    /// Number of measurements of each benchmark
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<NonZero<usize>>,
    /// Measure only this; can be repeated
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    pub(crate) only: Vec<SandboxBenchmark>,
}

impl BenchmarkArguments {
    /// Rejects a benchmark with figures of its own beside any other.
    pub(crate) fn check(&self) -> Result<(), BenchmarkError> {
        match self.only.iter().find(|benchmark| !benchmark.is_row()) {
            Some(separate) if self.only.len() > 1 => Err(BenchmarkError::NotARow(separate.name())),
            _ => Ok(()),
        }
    }

    /// Whether this row of the table is to be measured.
    pub(crate) fn selects(&self, benchmark: SandboxBenchmark) -> bool {
        self.only.is_empty() || self.only.contains(&benchmark)
    }
}

/// One benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxBenchmark {
    /// Create a sandbox, run /bin/true in it, destroy it
    Create,
    /// The same with a network that denies everything
    CreateNetwork,
    /// bwrap --unshare-all --ro-bind / / /bin/true
    Bwrap,
    /// The whole command menace sandbox run -- /bin/true
    Cli,
    /// Create a sandbox, run python3 -I -c pass in it, destroy it
    Python,
    /// An isolated Python call by a zygote
    Zygote,
    /// Run /bin/true in a running sandbox
    Exec,
    /// docker run --rm IMAGE /bin/true
    DockerRun,
    /// docker exec CONTAINER /bin/true
    DockerExec,
    /// Concurrent creation of sandboxes; --runs is their number
    ConcurrentCreates,
    /// Memory of idle sandboxes; --runs is their number
    Idle,
    /// Delay between a timeout and the end of a process tree that resists; --runs is the number of trees
    TimeoutTree,
    /// Isolated Python calls per second; --runs is the duration in seconds
    ZygoteThroughput,
}

impl SandboxBenchmark {
    /// Name on the command line and in the JSON document.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::CreateNetwork => "create-network",
            Self::Bwrap => "bwrap",
            Self::Cli => "cli",
            Self::Python => "python",
            Self::Zygote => "zygote",
            Self::Exec => "exec",
            Self::DockerRun => "docker-run",
            Self::DockerExec => "docker-exec",
            Self::ConcurrentCreates => "concurrent-creates",
            Self::Idle => "idle",
            Self::TimeoutTree => "timeout-tree",
            Self::ZygoteThroughput => "zygote-throughput",
        }
    }

    /// Whether it is a row of the table, measured in turn with the others.
    fn is_row(self) -> bool {
        !matches!(self, Self::ConcurrentCreates | Self::Idle | Self::TimeoutTree | Self::ZygoteThroughput)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for benchmark in SandboxBenchmark::value_variants() {
            assert_eq!(benchmark.to_possible_value().unwrap().get_name(), benchmark.name());
        }
    }

    #[test]
    fn only_rows_can_be_combined() {
        let check = |only: &str| {
            BenchmarkArguments::parse_from(["bench", "--menace", "menace", "--only", only]).check().is_ok()
        };
        assert!(check("create,exec"));
        assert!(check("idle"));
        assert!(!check("create,idle"));
    }
}
