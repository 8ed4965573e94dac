//! One service: its process, its log, and its restarts.

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

/// Variable with the process id of the supervisor; a service exits with its supervisor.
pub(crate) const SUPERVISOR: &str = "MENACE_SUPERVISOR";

/// A service of `menace up`.
#[derive(Debug, Clone)]
pub(super) struct SupervisedService {
    pub(super) name: &'static str,
    pub(super) arguments: Vec<String>,
    /// Arguments of a restart, if they differ.
    pub(super) again: Option<Vec<String>>,
    /// Environment variables that differ from ours.
    pub(super) variables: Vec<(&'static str, &'static str)>,
    /// Whether the service is done after a successful exit.
    pub(super) may_end: bool,
}

/// Final state of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceEnd {
    /// It finished its work.
    Done,
    /// It was told to stop.
    Told,
    /// Its arguments or settings are wrong, so a restart would fail too.
    Wrong,
}

/// Time for a service to stop by itself; `auto` finishes its verifications.
const GRACE: Duration = Duration::from_mins(1);

impl SupervisedService {
    /// Runs the service and restarts it until it is done or `end` is true.
    pub(super) async fn supervise(
        self,
        logs: &Path,
        alerts: &AlertDispatcher,
        mut end: watch::Receiver<bool>,
    ) -> anyhow::Result<ServiceEnd> {
        let mut log = RotatingLog::open(&logs.join(format!("{}.log", self.name)), LARGEST)
            .with_context(|| format!("failed to open the log of {} in {}", self.name, logs.display()))?;
        let (mut backoff, mut is_restart) = (RestartBackoff::default(), false);
        loop {
            let began = Instant::now();
            let child = self.start(is_restart)?;
            note(&format!("{} {}", self.name, if is_restart { "restarted" } else { "started" }));
            let Some(status) = self.log_until_exit(child, &mut log, &mut end).await? else {
                return Ok(ServiceEnd::Told);
            };
            if status.success() && self.may_end {
                note(&format!("{} finished", self.name));
                return Ok(ServiceEnd::Done);
            }
            let is_wrong = status.code() == Some(MenaceExit::Usage.code().into());
            // There may be nothing to resume; then the next start is a fresh one.
            let is_wrong_again = is_wrong && is_restart && self.again.is_some();
            if is_wrong && !is_wrong_again {
                tracing::error!("{} has invalid arguments or settings; see {}", self.name, logs.display());
                return Ok(ServiceEnd::Wrong);
            }
            let decision = backoff.ended_after(began.elapsed());
            let times = decision.ends;
            tracing::warn!(
                "{} exited ({status}, {times} in a row); restarting it in {:?}",
                self.name,
                decision.wait
            );
            if decision.alert {
                let message =
                    format!("{} exited {times} times in a row, the last time with {status}", self.name);
                alerts.dispatch(&ServiceAlert::now("service.restarted", self.name, message)).await;
            }
            tokio::select! {
                () = tokio::time::sleep(decision.wait) => {}
                () = shutdown_requested(&mut end) => return Ok(ServiceEnd::Told),
            }
            is_restart = !is_wrong_again;
        }
    }

    fn start(&self, is_restart: bool) -> anyhow::Result<Child> {
        let arguments = self.again.as_ref().filter(|_| is_restart).unwrap_or(&self.arguments);
        let program = std::env::current_exe().context("failed to find the menace executable")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(self.variables.iter().copied())
            .env(SUPERVISOR, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C in our terminal is for the supervisor, which stops the services.
            .process_group(0)
            .kill_on_drop(true);
        command.spawn().with_context(|| format!("failed to start {}", self.name))
    }

    /// Logs the output of the service until it exits; `None` if it was told to stop.
    async fn log_until_exit(
        &self,
        mut child: Child,
        log: &mut RotatingLog,
        end: &mut watch::Receiver<bool>,
    ) -> anyhow::Result<Option<ExitStatus>> {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut lines = ServiceOutputLines::of(stdout, stderr);
        let mut deadline = None;
        let mut is_stopping = false;
        loop {
            tokio::select! {
                Some(line) = lines.next() => log.line(&line).with_context(|| format!("failed to write the log of {}", self.name))?,
                status = child.wait() => {
                    let status = status?;
                    while let Some(line) = lines.next().await {
                        log.line(&line)?;
                    }
                    return Ok((!is_stopping).then_some(status));
                }
                () = shutdown_requested(end), if !is_stopping => {
                    is_stopping = true;
                    deadline = Some(tokio::time::Instant::now() + GRACE);
                    if let Some(pid) = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
                        // It may have exited in this moment.
                        let _ = kill_process(pid, Signal::INT);
                    }
                }
                () = until(deadline) => {
                    tracing::warn!("{} did not stop within {GRACE:?}; killing it", self.name);
                    child.start_kill()?;
                    deadline = None;
                }
            }
        }
    }
}

/// Waits until the supervisor stops.
async fn shutdown_requested(end: &mut watch::Receiver<bool>) {
    // A dropped sender means the same.
    let _ = end.wait_for(|end| *end).await;
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Lines of both streams, in the order of their arrival.
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
            tokio::spawn(forward_lines(stdout, sender.clone()));
        }
        if let Some(stderr) = stderr {
            tokio::spawn(forward_lines(stderr, sender));
        }
        Self { lines }
    }

    async fn next(&mut self) -> Option<Vec<u8>> {
        self.lines.recv().await
    }
}

/// Size of the read buffer, enough for almost every line.
const READ_BUFFER: usize = 64 << 10;

async fn forward_lines(stream: impl AsyncRead + Unpin, lines: tokio::sync::mpsc::Sender<Vec<u8>>) {
    let mut reader = BufReader::with_capacity(READ_BUFFER, stream);
    loop {
        let mut line = Vec::new();
        // A read error counts as the end of the stream.
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
