//! Rows of commands on the host: bubblewrap, docker, and `menace` as a user starts it.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use crate::arguments::SandboxBenchmark;
use crate::error::BenchmarkError;
use crate::timed_operation::{BenchmarkRow, TimedOperation};

/// Timeout of the question for the version of an engine.
const ENGINE_TIMEOUT: Duration = Duration::from_secs(10);

/// A command on the host that is started and waited for.
pub(crate) struct ExternalCommand {
    row: BenchmarkRow,
    words: Vec<String>,
}

impl ExternalCommand {
    /// A whole `menace sandbox run`, with the start of its launcher.
    pub(crate) fn menace(executable: &Path) -> Self {
        let what = "the whole command: menace sandbox run -- /bin/true";
        Self {
            row: BenchmarkRow { benchmark: SandboxBenchmark::Cli, what, peer_of: None },
            words: words(&[&executable.to_string_lossy(), "sandbox", "run", "--", "/bin/true"]),
        }
    }

    /// Bubblewrap with all namespaces and a read-only root.
    pub(crate) fn bubblewrap() -> Self {
        let what = "bwrap --unshare-all --ro-bind / / /bin/true";
        Self {
            row: BenchmarkRow {
                benchmark: SandboxBenchmark::Bwrap,
                what,
                peer_of: Some(SandboxBenchmark::Create),
            },
            words: words(&["bwrap", "--unshare-all", "--ro-bind", "/", "/", "/bin/true"]),
        }
    }

    /// A command of docker.
    pub(crate) fn docker(row: BenchmarkRow, arguments: &[&str]) -> Self {
        Self { row, words: words(&[&["docker"], arguments].concat()) }
    }

    /// Runs it once. The error is the reason why it cannot be measured.
    pub(crate) fn try_once(&self) -> Result<(), BenchmarkError> {
        capture(&self.words.iter().map(String::as_str).collect::<Vec<_>>()).map(drop)
    }
}

#[async_trait]
impl TimedOperation for ExternalCommand {
    fn row(&self) -> BenchmarkRow {
        self.row
    }

    /// Blocks the thread of the runtime, which has nothing else to do: an idle runtime disturbs least.
    async fn perform(&mut self) -> anyhow::Result<()> {
        Ok(self.try_once()?)
    }
}

/// Runs a command to its end and returns its stdout.
pub(crate) fn capture(words: &[&str]) -> Result<String, BenchmarkError> {
    let ended = start(words).and_then(Child::wait_with_output);
    judge(words, ended)
}

/// The same with a timeout, for a client whose engine may not answer. The output must fit into a pipe.
pub(crate) fn capture_with_timeout(words: &[&str]) -> Result<String, BenchmarkError> {
    let ended = start(words).and_then(|mut child| {
        let started = Instant::now();
        while child.try_wait()?.is_none() {
            if started.elapsed() > ENGINE_TIMEOUT {
                child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait_with_output()
    });
    judge(words, ended)
}

/// Starts a command in its own process group, so that Ctrl-C reaches only this process, which then ends in order.
fn start(words: &[&str]) -> io::Result<Child> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    Command::new(program)
        .args(arguments)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

fn judge(words: &[&str], ended: io::Result<Output>) -> Result<String, BenchmarkError> {
    let failed = |reason| BenchmarkError::HostCommand { command: words.join(" "), reason };
    let output = ended.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failed("is not installed".into()),
        _ => failed(format!("could not be run: {error}")),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(format!("failed with {}: {}", output.status, said.trim())))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
