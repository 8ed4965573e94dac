//! A command in a container, from its start to its outcome.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use menace_guest::protocol::{
    CommandControl, GuestCommand, GuestCommandResult, GuestFrameKind, GuestReport, GuestRequest,
    GuestStartStep, encode,
};
use menace_model::sandbox::{ExecOutcome, ExecRequest, ResourceUsage, SandboxSpec, TerminalSize, WORKSPACE};
use tokio::io::{AsyncWrite, AsyncWriteExt, DuplexStream};

use super::container_channel::{ContainerChannel, ContainerReceiver, ContainerSender, parse, protocol_error};
use super::guest_requests::inspect;
use super::handle::ContainerHandle;
use super::stdin::ContainerStdinSender;
use crate::environment::BaseEnvironment;
use crate::output_capture::OutputCapture;
use crate::{ProcessEvent, SandboxError, SandboxProcess};

/// Time after the timeout in which the leader of a command must report its end. A silent leader may have been stopped
/// by its command, so it is continued, which is harmless.
const GRACE: Duration = Duration::from_millis(100);

/// Second period after that. Then all processes of the sandbox are killed, which should be rare even on a busy machine.
const SECOND_GRACE: Duration = Duration::from_millis(600);

/// Longest silence while a program is being started, and number of such periods.
const SILENCE: Duration = Duration::from_secs(1);
const STARTING_ATTEMPTS: usize = 10;

/// Time that streams may take to end after all processes were killed.
const STREAM_TIMEOUT: Duration = Duration::from_secs(2);

/// Meaning of a report for a command.
enum CommandProgress {
    /// Nothing of interest to the caller.
    Nothing,
    /// The kernel has accepted the program.
    Started,
    /// The command ended.
    Ended(Box<GuestCommandResult>),
    /// The leader of the command failed.
    LeaderFailed,
}

/// Running or ended command.
pub(super) struct DockerProcess {
    handle: Arc<ContainerHandle>,
    /// `None` once the command is over.
    from: Option<ContainerReceiver>,
    to: ContainerSender,
    feeding: ContainerStdinSender,
    stdin: Option<DuplexStream>,
    program: String,
    directory: PathBuf,
    timeout: Option<Duration>,
    has_quota: bool,
    began: Instant,
    deadline: Option<tokio::time::Instant>,
    was_woken: bool,
    oom_kills: Option<u64>,
}

impl DockerProcess {
    /// Requests a command. The first report says whether it could be started.
    pub(super) async fn start(
        handle: &Arc<ContainerHandle>,
        spec: &SandboxSpec,
        environment: &BaseEnvironment,
        request: ExecRequest,
    ) -> Result<Self, SandboxError> {
        let Some(program) = request.command.first().cloned() else {
            return Err(SandboxError::Refused {
                problem: "the command is empty".into(),
                hint: "name a program".into(),
            });
        };
        let directory = request.directory.clone().unwrap_or_else(|| PathBuf::from(WORKSPACE));
        let run = GuestCommand {
            environment: environment.of_command(spec, &request),
            command: request.command,
            directory: directory.clone(),
            timeout: request.timeout,
            cpu_time: spec.limits.cpu_time,
            exclusive: request.exclusive,
            terminal: request.terminal,
        };
        let link = ContainerChannel::open(handle, &GuestRequest::Run(Box::new(run))).await?;
        let (feeding, stdin) = ContainerStdinSender::start(link.to.clone(), request.stdin);
        Ok(Self {
            handle: Arc::clone(handle),
            from: Some(link.from),
            to: link.to,
            feeding,
            stdin: Some(stdin),
            program,
            directory,
            timeout: request.timeout,
            has_quota: spec.limits.cpus.is_some(),
            began: Instant::now(),
            deadline: None,
            was_woken: false,
            oom_kills: None,
        })
    }

    /// Waits until the kernel has executed the program. A program that stopped its leader before the leader could
    /// report this is detected by continuing the leader.
    pub(super) async fn wait_until_started(&mut self) -> Result<(), SandboxError> {
        for _ in 0..STARTING_ATTEMPTS {
            let Ok(started) = tokio::time::timeout(SILENCE, self.next_start_report()).await else {
                self.handle.wake_leaders().await?;
                continue;
            };
            return started;
        }
        self.kill_all_processes().await?;
        Err(SandboxError::Inside {
            action: "start a program in",
            path: self.directory.clone(),
            source: io::Error::new(
                io::ErrorKind::TimedOut,
                "the program repeatedly stops its leader process",
            ),
        })
    }

    /// Waits for the report of the start. Cancel-safe.
    async fn next_start_report(&mut self) -> Result<(), SandboxError> {
        loop {
            let Some(from) = &mut self.from else { return Err(self.handle.gone()) };
            match from.next().await? {
                Some((GuestFrameKind::Report, body)) => match self.apply_report(parse(&body)?)? {
                    CommandProgress::Nothing => {}
                    CommandProgress::Started => return Ok(()),
                    CommandProgress::Ended(_) | CommandProgress::LeaderFailed => {
                        return Err(protocol_error("the end of a command before its start"));
                    }
                },
                Some((kind, _)) => {
                    return Err(protocol_error(&format!("{kind:?} before a command has started")));
                }
                None => {
                    self.ended_silently().await?;
                    return Err(self.handle.gone());
                }
            }
        }
    }

    /// Waits for the end of the command and captures its output up to the limit.
    pub(super) async fn collect(mut self, limit: u64) -> Result<ExecOutcome, SandboxError> {
        self.stdin = None;
        let (mut stdout, mut stderr) = (OutputCapture::new(limit), OutputCapture::new(limit));
        loop {
            match self.next().await? {
                ProcessEvent::Stdout(bytes) => stdout.add(&bytes),
                ProcessEvent::Stderr(bytes) => stderr.add(&bytes),
                ProcessEvent::Exited(mut outcome) => {
                    outcome.truncated = stdout.is_truncated || stderr.is_truncated;
                    outcome.stdout = stdout.text();
                    outcome.stderr = stderr.text();
                    return Ok(*outcome);
                }
            }
        }
    }

    /// Applies a report to the command's state.
    fn apply_report(&mut self, report: GuestReport) -> Result<CommandProgress, SandboxError> {
        match report {
            GuestReport::Started => return Ok(CommandProgress::Started),
            GuestReport::Starting { oom_kills } => {
                self.oom_kills = oom_kills;
                let latest = self.timeout.and_then(|timeout| timeout.checked_add(GRACE));
                self.deadline = latest.and_then(|time| tokio::time::Instant::now().checked_add(time));
            }
            GuestReport::Consumed(bytes) => self.feeding.consumed(bytes),
            GuestReport::InputClosed => self.feeding.end(),
            GuestReport::Ended(end) => return Ok(CommandProgress::Ended(end)),
            GuestReport::NotStarted { errno, step } => {
                self.from = None;
                return Err(self.not_started(errno, step));
            }
            // A command can destroy resources that its leader needs.
            GuestReport::Failed(problem) => {
                tracing::debug!("the leader of a command in sandbox {} failed: {problem}", self.handle.id);
                return Ok(CommandProgress::LeaderFailed);
            }
            other => return Err(protocol_error(&format!("{other:?} of a command"))),
        }
        Ok(CommandProgress::Nothing)
    }

    fn not_started(&self, errno: i32, step: GuestStartStep) -> SandboxError {
        let source = io::Error::from_raw_os_error(errno);
        match step {
            GuestStartStep::Directory => {
                SandboxError::Inside { action: "enter", path: self.directory.clone(), source }
            }
            GuestStartStep::Terminal => {
                SandboxError::Io { action: "create a terminal in a container", source }
            }
            GuestStartStep::Execute | GuestStartStep::Connect => {
                SandboxError::Start { program: self.program.clone(), source }
            }
        }
    }

    /// Handles an end that the leader reported.
    async fn ended(&mut self, end: GuestCommandResult) -> Result<ProcessEvent, SandboxError> {
        self.close_streams();
        if end.has_survivors {
            self.handle.empty().await?;
        }
        Ok(ProcessEvent::Exited(Box::new(outcome(&end, self.has_quota))))
    }

    /// Continues the leader, which has not reported the timeout.
    async fn wake(&mut self) -> Result<(), SandboxError> {
        self.deadline = tokio::time::Instant::now().checked_add(SECOND_GRACE);
        if !self.handle.is_paused() {
            self.was_woken = true;
            self.handle.wake_leaders().await?;
        }
        Ok(())
    }

    /// Ends a command whose leader stays silent after the timeout.
    async fn overdue(&mut self) -> Result<ProcessEvent, SandboxError> {
        self.kill_all_processes().await?;
        let end = GuestCommandResult { timed_out: true, ..self.unmeasured() };
        Ok(ProcessEvent::Exited(Box::new(without_usage(&end))))
    }

    /// Handles a leader that disappeared without a report: the command may have killed it, or the kernel's OOM killer.
    async fn ended_silently(&mut self) -> Result<ProcessEvent, SandboxError> {
        if let Some(from) = &mut self.from
            && let Some(error) = from.end().await
        {
            let out_of_memory = self.handle.state().await.is_ok_and(|state| state.oom_killed == Some(true));
            self.close_streams();
            if !out_of_memory || !matches!(error, SandboxError::Gone { .. }) {
                return Err(error);
            }
            let end = GuestCommandResult { oom_kills: Some(1), ..self.unmeasured() };
            return Ok(ProcessEvent::Exited(Box::new(without_usage(&end))));
        }
        self.kill_all_processes().await?;
        let now = inspect(&self.handle).await?.oom_kills;
        let oom_kills = now.zip(self.oom_kills).map(|(now, before)| now.saturating_sub(before));
        let end = GuestCommandResult { oom_kills, ..self.unmeasured() };
        Ok(ProcessEvent::Exited(Box::new(without_usage(&end))))
    }

    /// Kills all processes in the sandbox: without the leader the command's processes cannot be told from the others.
    async fn kill_all_processes(&mut self) -> Result<(), SandboxError> {
        let from = self.from.take();
        self.close_streams();
        if let Err(error) = self.handle.empty().await {
            self.handle.kill_container().await;
            return Err(error);
        }
        let Some(mut from) = from else { return Ok(()) };
        let end = async { while matches!(from.next().await, Ok(Some(_))) {} };
        if tokio::time::timeout(STREAM_TIMEOUT, end).await.is_err() {
            tracing::warn!("the streams of a command in sandbox {} did not end", self.handle.id);
        }
        Ok(())
    }

    fn close_streams(&mut self) {
        self.from = None;
        self.stdin = None;
        self.feeding.end();
    }

    /// End of a command as far as known without its leader.
    fn unmeasured(&self) -> GuestCommandResult {
        let wall_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        GuestCommandResult { signal: Some(libc::SIGKILL), wall_us, ..GuestCommandResult::default() }
    }

    async fn control(&mut self, control: &CommandControl) -> Result<(), SandboxError> {
        self.handle.check_alive()?;
        if self.from.is_none() {
            return Err(broken_pipe("control a command that has ended"));
        }
        let body = encode(control).map_err(SandboxError::io("write an order"))?;
        self.to.send(GuestFrameKind::Control, &body).await.map_err(SandboxError::io("control a command"))
    }
}

#[async_trait]
impl SandboxProcess for DockerProcess {
    async fn next(&mut self) -> Result<ProcessEvent, SandboxError> {
        loop {
            let Some(from) = &mut self.from else { return Err(self.handle.gone()) };
            let heard = tokio::select! {
                heard = from.next() => heard,
                () = sleep_until(self.deadline) => {
                    // A paused command cannot end before it is resumed.
                    if self.was_woken && !self.handle.is_paused() {
                        return self.overdue().await;
                    }
                    self.wake().await?;
                    continue;
                }
            };
            match heard? {
                Some((GuestFrameKind::Output, bytes)) => return Ok(ProcessEvent::Stdout(bytes)),
                Some((GuestFrameKind::Complaint, bytes)) => return Ok(ProcessEvent::Stderr(bytes)),
                Some((GuestFrameKind::Report, body)) => match self.apply_report(parse(&body)?)? {
                    CommandProgress::Nothing | CommandProgress::Started => {}
                    CommandProgress::Ended(end) => return self.ended(*end).await,
                    CommandProgress::LeaderFailed => return self.ended_silently().await,
                },
                Some((kind, _)) => return Err(protocol_error(&format!("{kind:?} of a command"))),
                None => return self.ended_silently().await,
            }
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError> {
        let Some(stdin) = &mut self.stdin else {
            return Err(broken_pipe("write to a command"));
        };
        stdin.write_all(bytes).await.map_err(SandboxError::io("write to a command"))
    }

    async fn take_stdin(&mut self) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
        self.stdin.take().map(|stdin| Box::new(stdin) as Box<dyn AsyncWrite + Send + Unpin>)
    }

    async fn close_stdin(&mut self) -> Result<(), SandboxError> {
        self.stdin = None;
        Ok(())
    }

    async fn signal(&mut self, signal: i32) -> Result<(), SandboxError> {
        self.control(&CommandControl::Signal(signal)).await
    }

    async fn kill(&mut self) -> Result<(), SandboxError> {
        self.control(&CommandControl::Kill).await
    }

    async fn resize(&mut self, size: TerminalSize) -> Result<(), SandboxError> {
        self.control(&CommandControl::Resize(size)).await
    }
}

impl Drop for DockerProcess {
    fn drop(&mut self) {
        // The leader kills the command as soon as the connection is closed; a task verifies that it does.
        let (Some(from), Ok(runtime)) = (self.from.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let (to, handle) = (self.to.clone(), Arc::clone(&self.handle));
        runtime.spawn(ensure_ended(from, to, handle));
    }
}

async fn ensure_ended(mut from: ContainerReceiver, to: ContainerSender, handle: Arc<ContainerHandle>) {
    let ended = async {
        let kill = encode(&CommandControl::Kill).unwrap_or_default();
        // An ended command does not receive it.
        drop(to.send(GuestFrameKind::Control, &kill).await);
        let mut has_ended = false;
        while let Ok(Some((kind, body))) = from.next().await {
            has_ended |= kind == GuestFrameKind::Report
                && matches!(parse(&body), Ok(GuestReport::Ended(end)) if !end.has_survivors);
        }
        has_ended
    };
    let has_ended = tokio::time::timeout(STREAM_TIMEOUT, ended).await.unwrap_or(false);
    if !has_ended && let Err(error) = handle.empty().await {
        tracing::debug!("failed to end a dropped command: {error}");
    }
}

async fn sleep_until(moment: Option<tokio::time::Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn broken_pipe(action: &'static str) -> SandboxError {
    SandboxError::Io { action, source: io::ErrorKind::BrokenPipe.into() }
}

/// Outcome of an ended command.
fn outcome(end: &GuestCommandResult, has_quota: bool) -> ExecOutcome {
    let usage = ResourceUsage {
        cpu_user_ms: Some(end.cpu_user_us as f64 / 1e3),
        cpu_system_ms: Some(end.cpu_system_us as f64 / 1e3),
        peak_rss_bytes: Some(end.peak_bytes),
        io_read_bytes: end.io_read_bytes,
        io_write_bytes: end.io_write_bytes,
        cpu_throttled_ms: end.throttled_ns.filter(|_| has_quota).map(|time| time as f64 / 1e6),
    };
    ExecOutcome { usage, ..without_usage(end) }
}

fn without_usage(end: &GuestCommandResult) -> ExecOutcome {
    let was_killed = end.timed_out || end.cpu_exceeded;
    ExecOutcome {
        exit_code: end.exit_code.filter(|_| !was_killed),
        signal: end.signal.filter(|_| !was_killed),
        timed_out: end.timed_out,
        cpu_exceeded: end.cpu_exceeded,
        oom: end.oom_kills.is_some_and(|count| count > 0),
        disk_full: end.disk_full,
        wall_ms: end.wall_us as f64 / 1e3,
        ..ExecOutcome::default()
    }
}
