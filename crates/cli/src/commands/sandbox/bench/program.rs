//! Programs beside us: bubblewrap, docker, and menace itself as a user starts it.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::contender::{Contender, Row};
use super::error::BenchError;
use crate::arguments::SandboxBenchmark;

/// How long an engine may take to say its version before it counts as silent.
const PATIENCE: Duration = Duration::from_secs(10);

/// A program that is started and waited for.
pub(super) struct Program {
    row: Row,
    words: Vec<String>,
}

impl Program {
    /// A whole `menace sandbox run`: this same binary as a process, with its launcher and everything.
    pub(super) fn menace(executable: &Path) -> Self {
        let what = "the whole command: menace sandbox run -- /bin/true";
        Self {
            row: Row { measure: SandboxBenchmark::Cli, what, peer_of: None },
            words: words(&[&executable.to_string_lossy(), "sandbox", "run", "--", "/bin/true"]),
        }
    }

    /// Bubblewrap with all namespaces and a read-only root.
    pub(super) fn bubblewrap() -> Self {
        let what = "bwrap --unshare-all --ro-bind / / /bin/true";
        Self {
            row: Row { measure: SandboxBenchmark::Bwrap, what, peer_of: Some(SandboxBenchmark::Create) },
            words: words(&["bwrap", "--unshare-all", "--ro-bind", "/", "/", "/bin/true"]),
        }
    }

    /// A row of docker.
    pub(super) fn docker(row: Row, arguments: &[&str]) -> Self {
        Self { row, words: words(&[&["docker"], arguments].concat()) }
    }

    /// Runs it once, outside of the measurement: an answer why it cannot be measured.
    pub(super) fn try_once(&self) -> Result<(), BenchError> {
        capture(&self.words.iter().map(String::as_str).collect::<Vec<_>>()).map(drop)
    }
}

#[async_trait]
impl Contender for Program {
    fn row(&self) -> Row {
        self.row
    }

    /// Nothing else is to be done on this thread meanwhile, and an idle runtime is the quietest one.
    async fn once(&mut self) -> anyhow::Result<()> {
        Ok(self.try_once()?)
    }
}

/// Runs a program to its end and answers what it printed.
pub(super) fn capture(words: &[&str]) -> Result<String, BenchError> {
    let ended = start(words, Stdio::null()).and_then(Child::wait_with_output);
    judge(words, ended)
}

/// The same with something to read.
pub(super) fn capture_with_input(words: &[&str], input: &[u8]) -> Result<String, BenchError> {
    let fed = start(words, Stdio::piped()).and_then(|mut child| {
        let mut stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(input)?;
        drop(stdin);
        child.wait_with_output()
    });
    judge(words, fed)
}

/// The same for a program that may wait for ever for somebody who does not answer. What it prints must be short.
pub(super) fn capture_in_time(words: &[&str]) -> Result<String, BenchError> {
    let ended = start(words, Stdio::null()).and_then(|mut child| {
        let started = Instant::now();
        while child.try_wait()?.is_none() {
            if started.elapsed() > PATIENCE {
                child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait_with_output()
    });
    judge(words, ended)
}

/// In a process group of its own: Ctrl-C is for us, who then end in order.
fn start(words: &[&str], stdin: Stdio) -> io::Result<Child> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    Command::new(program)
        .args(arguments)
        .process_group(0)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

fn judge(words: &[&str], ended: io::Result<Output>) -> Result<String, BenchError> {
    let failed = |reason| BenchError::Program { command: words.join(" "), reason };
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
