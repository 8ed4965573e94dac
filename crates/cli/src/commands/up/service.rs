//! One service: a process of ours, its log, and what happens when it ends.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use menace_server::alerts::{AlertDispatcher, ServiceAlert};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use super::patience::RestartBackoff;
use super::rotating::{LARGEST, RotatingLog};
use crate::exit::MenaceExit;
use crate::terminal::note;

/// The process that a service belongs to: it ends with that.
pub(crate) const SUPERVISOR: &str = "MENACE_SUPERVISOR";

/// What is to run.
#[derive(Debug, Clone)]
pub(super) struct SupervisedService {
    pub(super) name: &'static str,
    pub(super) arguments: Vec<String>,
    /// What it is started with again, if that is something else.
    pub(super) again: Option<Vec<String>>,
    /// Variables that differ from ours.
    pub(super) variables: Vec<(&'static str, &'static str)>,
    /// Whether an end without an error is its end.
    pub(super) may_end: bool,
}

/// How a service came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceEnd {
    /// It is done.
    Done,
    /// It was told to.
    Told,
    /// It would be wrong again.
    Wrong,
}

/// How long a service has to end by itself. A loop finishes what it proves.
const GRACE: Duration = Duration::from_mins(1);

impl SupervisedService {
    /// Runs it, and again, until it is done or `end` is true.
    pub(super) async fn supervise(
        self,
        logs: &Path,
        alerts: &AlertDispatcher,
        mut end: watch::Receiver<bool>,
    ) -> anyhow::Result<ServiceEnd> {
        let mut log = RotatingLog::open(&logs.join(format!("{}.log", self.name)), LARGEST)
            .with_context(|| format!("failed to open the log of {} in {}", self.name, logs.display()))?;
        let (mut patience, mut is_again) = (RestartBackoff::default(), false);
        loop {
            let began = Instant::now();
            let child = self.start(is_again)?;
            note(&format!("{} runs{}", self.name, if is_again { " again" } else { "" }));
            let Some(status) = self.attend(child, &mut log, &mut end).await? else {
                return Ok(ServiceEnd::Told);
            };
            if status.success() && self.may_end {
                note(&format!("{} is done", self.name));
                return Ok(ServiceEnd::Done);
            }
            let is_wrong = status.code() == Some(MenaceExit::Usage.code().into());
            // There may be nothing to go on with: then it begins anew.
            let is_wrong_again = is_wrong && is_again && self.again.is_some();
            if is_wrong && !is_wrong_again {
                tracing::error!("{} cannot run as it is asked to; see {}", self.name, logs.display());
                return Ok(ServiceEnd::Wrong);
            }
            let answer = patience.ended_after(began.elapsed());
            let times = answer.ends;
            tracing::warn!(
                "{} ended ({status}, {times} in a row); it is started again in {:?}",
                self.name,
                answer.wait
            );
            if answer.tell {
                let message = format!("{} ended {times} times in a row, at last with {status}", self.name);
                alerts.dispatch(&ServiceAlert::now("service.restarted", self.name, message)).await;
            }
            tokio::select! {
                () = tokio::time::sleep(answer.wait) => {}
                () = shutdown_requested(&mut end) => return Ok(ServiceEnd::Told),
            }
            is_again = !is_wrong_again;
        }
    }

    fn start(&self, is_again: bool) -> anyhow::Result<Child> {
        let arguments = self.again.as_ref().filter(|_| is_again).unwrap_or(&self.arguments);
        let program = std::env::current_exe().context("failed to find this program")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(self.variables.iter().copied())
            .env(SUPERVISOR, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C at our terminal is for us, who tell the others.
            .process_group(0)
            .kill_on_drop(true);
        command.spawn().with_context(|| format!("failed to start {}", self.name))
    }

    /// Writes down what it says until it ends; nothing if it was told to.
    async fn attend(
        &self,
        mut child: Child,
        log: &mut RotatingLog,
        end: &mut watch::Receiver<bool>,
    ) -> anyhow::Result<Option<ExitStatus>> {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut lines = ServiceOutputLines::of(stdout, stderr);
        let mut deadline = None;
        let mut is_told = false;
        loop {
            tokio::select! {
                Some(line) = lines.next() => log.line(&line).with_context(|| format!("failed to write the log of {}", self.name))?,
                status = child.wait() => {
                    let status = status?;
                    while let Some(line) = lines.next().await {
                        log.line(&line)?;
                    }
                    return Ok((!is_told).then_some(status));
                }
                () = shutdown_requested(end), if !is_told => {
                    is_told = true;
                    deadline = Some(tokio::time::Instant::now() + GRACE);
                    if let Some(pid) = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
                        // It may have ended this very moment.
                        let _ = kill_process(pid, Signal::INT);
                    }
                }
                () = until(deadline) => {
                    tracing::warn!("{} did not end within {GRACE:?} and is killed", self.name);
                    child.start_kill()?;
                    deadline = None;
                }
            }
        }
    }
}

/// Waits until everything is to end.
async fn shutdown_requested(end: &mut watch::Receiver<bool>) {
    // Who tells may be gone, which is the same.
    let _ = end.wait_for(|end| *end).await;
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Lines of both streams, as they come.
struct ServiceOutputLines {
    lines: tokio::sync::mpsc::Receiver<Vec<u8>>,
}

impl ServiceOutputLines {
    fn of(
        stdout: Option<impl AsyncRead + Send + Unpin + 'static>,
        stderr: Option<impl AsyncRead + Send + Unpin + 'static>,
    ) -> Self {
        let (sender, lines) = tokio::sync::mpsc::channel(64);
        if let Some(stdout) = stdout {
            tokio::spawn(pass_on(stdout, sender.clone()));
        }
        if let Some(stderr) = stderr {
            tokio::spawn(pass_on(stderr, sender));
        }
        Self { lines }
    }

    async fn next(&mut self) -> Option<Vec<u8>> {
        self.lines.recv().await
    }
}

/// The longest line that is kept in one piece.
const LONGEST_LINE: usize = 64 << 10;

async fn pass_on(stream: impl AsyncRead + Unpin, lines: tokio::sync::mpsc::Sender<Vec<u8>>) {
    let mut reader = BufReader::with_capacity(LONGEST_LINE, stream);
    loop {
        let mut line = Vec::new();
        // A stream that cannot be read any more has ended.
        match reader.read_until(b'\n', &mut line).await {
            Ok(1..) => {}
            _ => return,
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if lines.send(line).await.is_err() {
            return;
        }
    }
}
