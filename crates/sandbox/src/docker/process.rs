//! A command in a container, from its start to its outcome.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use menace_inside::protocol::{Control, End, Kind, Order, Report, Run, Step, encode};
use menace_model::sandbox::{ExecOutcome, ExecRequest, SandboxSpec, TerminalSize, Usage, WORKSPACE};
use tokio::io::{AsyncWrite, AsyncWriteExt, DuplexStream};

use super::feeding::Feeding;
use super::handle::Handle;
use super::link::{FromInside, Link, ToInside, parse, wrong};
use super::work::inspect;
use crate::environment::BaseEnvironment;
use crate::kept::Kept;
use crate::{Event, Process, SandboxError};

/// How long after its time the leader of a command may take to say that it has ended it. One that is silent may have been
/// stopped by what it leads, and is woken, which harms nobody.
const GRACE: Duration = Duration::from_millis(100);

/// How long it may take after that. Then everything in the sandbox is ended, which on a busy machine should be rare.
const SECOND_GRACE: Duration = Duration::from_millis(600);

/// How long nothing may be heard of a program that is being started, and how often that may be.
const SILENCE: Duration = Duration::from_secs(1);
const STARTING_ATTEMPTS: usize = 10;

/// How long streams may take to end after everything was killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was heard of a command.
enum Heard {
    /// Nothing that its caller wants to know.
    Nothing,
    /// The kernel has accepted the program.
    Started,
    /// It ended.
    Ended(Box<End>),
    /// Its leader cannot lead it any more.
    LeaderFailed,
}

/// A command that runs, or has run.
pub(super) struct DockerProcess {
    handle: Arc<Handle>,
    /// Nothing when it is over.
    from: Option<FromInside>,
    to: ToInside,
    feeding: Feeding,
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
    /// Asks for a command. Whether it could be started is the first thing that is heard of it.
    pub(super) async fn start(
        handle: &Arc<Handle>,
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
        let run = Run {
            environment: environment.of_command(spec, &request),
            command: request.command,
            directory: directory.clone(),
            timeout: request.timeout,
            cpu_time: spec.limits.cpu_time,
            exclusive: request.exclusive,
            terminal: request.terminal,
        };
        let link = Link::open(handle, &Order::Run(Box::new(run))).await?;
        let (feeding, stdin) = Feeding::start(link.to.clone(), request.stdin);
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

    /// Waits until the kernel has accepted the program. One that has stopped its leader before that could be said is
    /// found out by waking the leader.
    pub(super) async fn wait_until_started(&mut self) -> Result<(), SandboxError> {
        for _ in 0..STARTING_ATTEMPTS {
            let Ok(started) = tokio::time::timeout(SILENCE, self.hear_of_start()).await else {
                self.handle.wake_leaders().await?;
                continue;
            };
            return started;
        }
        self.end_everything().await?;
        Err(SandboxError::Inside {
            action: "start a program in",
            path: self.directory.clone(),
            reason: "it stops the process that started it again and again".into(),
        })
    }

    /// It can be given up without losing anything.
    async fn hear_of_start(&mut self) -> Result<(), SandboxError> {
        loop {
            let Some(from) = &mut self.from else { return Err(self.handle.gone()) };
            match from.next().await? {
                Some((Kind::Report, body)) => match self.hear(parse(&body)?)? {
                    Heard::Nothing => {}
                    Heard::Started => return Ok(()),
                    Heard::Ended(_) | Heard::LeaderFailed => {
                        return Err(wrong("the end of a command before its beginning"));
                    }
                },
                Some((kind, _)) => return Err(wrong(&format!("{kind:?} before a command has begun"))),
                None => {
                    self.ended_silently().await?;
                    return Err(self.handle.gone());
                }
            }
        }
    }

    /// Hears all that the command prints, to its end, and keeps it up to the limit.
    pub(super) async fn collect(mut self, limit: u64) -> Result<ExecOutcome, SandboxError> {
        self.stdin = None;
        let (mut stdout, mut stderr) = (Kept::new(limit), Kept::new(limit));
        loop {
            match self.next().await? {
                Event::Stdout(bytes) => stdout.add(&bytes),
                Event::Stderr(bytes) => stderr.add(&bytes),
                Event::Exited(mut outcome) => {
                    outcome.truncated = stdout.is_truncated || stderr.is_truncated;
                    outcome.stdout = stdout.text();
                    outcome.stderr = stderr.text();
                    return Ok(*outcome);
                }
            }
        }
    }

    /// What a report means for the command.
    fn hear(&mut self, report: Report) -> Result<Heard, SandboxError> {
        match report {
            Report::Started => return Ok(Heard::Started),
            Report::Starting { oom_kills } => {
                self.oom_kills = oom_kills;
                let latest = self.timeout.and_then(|timeout| timeout.checked_add(GRACE));
                self.deadline = latest.and_then(|time| tokio::time::Instant::now().checked_add(time));
            }
            Report::Consumed(bytes) => self.feeding.consumed(bytes),
            Report::InputClosed => self.feeding.end(),
            Report::Ended(end) => return Ok(Heard::Ended(end)),
            Report::NotStarted { errno, step } => {
                self.from = None;
                return Err(self.not_started(errno, step));
            }
            // A command can take away what its leader needs.
            Report::Failed { problem } => {
                tracing::debug!("the leader of a command in sandbox {} failed: {problem}", self.handle.id);
                return Ok(Heard::LeaderFailed);
            }
            other => return Err(wrong(&format!("{other:?} of a command"))),
        }
        Ok(Heard::Nothing)
    }

    fn not_started(&self, errno: i32, step: Step) -> SandboxError {
        let source = io::Error::from_raw_os_error(errno);
        match step {
            Step::Directory => SandboxError::Inside {
                action: "enter",
                path: self.directory.clone(),
                reason: source.to_string(),
            },
            Step::Terminal => SandboxError::Io { action: "make a terminal in a container", source },
            Step::Execute | Step::Connect => SandboxError::Start { program: self.program.clone(), source },
        }
    }

    /// It has ended as its leader says.
    async fn ended(&mut self, end: End) -> Result<Event, SandboxError> {
        self.over();
        if end.has_survivors {
            self.handle.empty().await?;
        }
        Ok(Event::Exited(Box::new(outcome(&end, self.has_quota))))
    }

    /// Its time is over, and its leader has not said so.
    async fn wake(&mut self) -> Result<(), SandboxError> {
        self.deadline = tokio::time::Instant::now().checked_add(SECOND_GRACE);
        if !self.handle.is_paused() {
            self.was_woken = true;
            self.handle.wake_leaders().await?;
        }
        Ok(())
    }

    /// Its leader is silent though its time is over.
    async fn overdue(&mut self) -> Result<Event, SandboxError> {
        self.end_everything().await?;
        let end = End { timed_out: true, ..self.unmeasured() };
        Ok(Event::Exited(Box::new(without_usage(&end))))
    }

    /// Its leader is gone, and has not said why: what it led may have killed it, or the kernel for want of memory.
    async fn ended_silently(&mut self) -> Result<Event, SandboxError> {
        if let Some(from) = &mut self.from
            && let Some(error) = from.end().await
        {
            let out_of_memory = self.handle.state().await.is_ok_and(|state| state.oom_killed == Some(true));
            self.over();
            if !out_of_memory || !matches!(error, SandboxError::Gone { .. }) {
                return Err(error);
            }
            let end = End { oom_kills: Some(1), ..self.unmeasured() };
            return Ok(Event::Exited(Box::new(without_usage(&end))));
        }
        self.end_everything().await?;
        let now = inspect(&self.handle).await?.oom_kills;
        let oom_kills = now.zip(self.oom_kills).map(|(now, before)| now.saturating_sub(before));
        let end = End { oom_kills, ..self.unmeasured() };
        Ok(Event::Exited(Box::new(without_usage(&end))))
    }

    /// Kills everything in the sandbox: what belonged to the command cannot be told from the rest without its leader.
    async fn end_everything(&mut self) -> Result<(), SandboxError> {
        let from = self.from.take();
        self.over();
        if let Err(error) = self.handle.empty().await {
            self.handle.kill_container().await;
            return Err(error);
        }
        let Some(mut from) = from else { return Ok(()) };
        let end = async { while matches!(from.next().await, Ok(Some(_))) {} };
        if tokio::time::timeout(PATIENCE, end).await.is_err() {
            tracing::warn!("the streams of a command in sandbox {} did not end", self.handle.id);
        }
        Ok(())
    }

    fn over(&mut self) {
        self.from = None;
        self.stdin = None;
        self.feeding.end();
    }

    /// What is known of the end of a command without its leader.
    fn unmeasured(&self) -> End {
        let wall_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        End { signal: Some(libc::SIGKILL), wall_us, ..End::default() }
    }

    async fn control(&mut self, control: &Control) -> Result<(), SandboxError> {
        self.handle.check_alive()?;
        if self.from.is_none() {
            return Err(broken_pipe("tell something to a command that has ended"));
        }
        let body = encode(control).map_err(SandboxError::io("write an order"))?;
        self.to.send(Kind::Control, &body).await.map_err(SandboxError::io("tell something to a command"))
    }
}

#[async_trait]
impl Process for DockerProcess {
    async fn next(&mut self) -> Result<Event, SandboxError> {
        loop {
            let Some(from) = &mut self.from else { return Err(self.handle.gone()) };
            let heard = tokio::select! {
                heard = from.next() => heard,
                () = sleep_until(self.deadline) => {
                    // What is paused cannot end; it does as soon as it goes on.
                    if self.was_woken && !self.handle.is_paused() {
                        return self.overdue().await;
                    }
                    self.wake().await?;
                    continue;
                }
            };
            match heard? {
                Some((Kind::Output, bytes)) => return Ok(Event::Stdout(bytes)),
                Some((Kind::Complaint, bytes)) => return Ok(Event::Stderr(bytes)),
                Some((Kind::Report, body)) => match self.hear(parse(&body)?)? {
                    Heard::Nothing | Heard::Started => {}
                    Heard::Ended(end) => return self.ended(*end).await,
                    Heard::LeaderFailed => return self.ended_silently().await,
                },
                Some((kind, _)) => return Err(wrong(&format!("{kind:?} of a command"))),
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
        self.control(&Control::Signal(signal)).await
    }

    async fn kill(&mut self) -> Result<(), SandboxError> {
        self.control(&Control::Kill).await
    }

    async fn resize(&mut self, size: TerminalSize) -> Result<(), SandboxError> {
        self.control(&Control::Resize(size)).await
    }
}

impl Drop for DockerProcess {
    fn drop(&mut self) {
        // Its leader kills it as soon as the connection is gone; whether it does has to be seen to.
        let (Some(from), Ok(runtime)) = (self.from.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let (to, handle) = (self.to.clone(), Arc::clone(&self.handle));
        runtime.spawn(see_to_its_end(from, to, handle));
    }
}

async fn see_to_its_end(mut from: FromInside, to: ToInside, handle: Arc<Handle>) {
    let ended = async {
        let kill = encode(&Control::Kill).unwrap_or_default();
        // One that has ended does not hear it.
        drop(to.send(Kind::Control, &kill).await);
        let mut has_ended = false;
        while let Ok(Some((kind, body))) = from.next().await {
            has_ended |=
                kind == Kind::Report && matches!(parse(&body), Ok(Report::Ended(end)) if !end.has_survivors);
        }
        has_ended
    };
    let has_ended = tokio::time::timeout(PATIENCE, ended).await.unwrap_or(false);
    if !has_ended && let Err(error) = handle.empty().await {
        tracing::debug!("a dropped command could not be ended alone: {error}");
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

/// How a command ended, in the words of the caller.
fn outcome(end: &End, has_quota: bool) -> ExecOutcome {
    let usage = Usage {
        cpu_user_ms: Some(end.cpu_user_us as f64 / 1e3),
        cpu_system_ms: Some(end.cpu_system_us as f64 / 1e3),
        peak_rss_bytes: Some(end.peak_bytes),
        io_read_bytes: end.io_read_bytes,
        io_write_bytes: end.io_write_bytes,
        cpu_throttled_ms: end.throttled_ns.filter(|_| has_quota).map(|time| time as f64 / 1e6),
    };
    ExecOutcome { usage, ..without_usage(end) }
}

fn without_usage(end: &End) -> ExecOutcome {
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
