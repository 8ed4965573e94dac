//! A command in a native sandbox, from its start to its outcome.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use menace_model::sandbox::{ExecOutcome, ExecRequest, ResourceUsage, TerminalSize};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe;

use super::cgroup::ControlGroup;
use super::command::PreparedCommand;
use super::cpu_time;
use super::init::resize;
use super::init_channel::{InitChannel, JobAnswers};
use super::pipes::{OutputCapture, ProgramOutputPipe, sender};
use super::protocol::{InitReport, InitRequest, JobEnd, ProgramStartStep};
use super::sandbox::{InitProcessHandle, NativeSandbox};
use crate::faults::FaultInjector;
use crate::{ProcessEvent, SandboxError, SandboxProcess};

/// Size of the read buffer.
const CHUNK: usize = 64 << 10;
/// Time that a killed command may take to exit before the whole sandbox is killed.
const PATIENCE: Duration = Duration::from_secs(2);
/// Idle time after which the terminal of an exited command counts as drained: the kernel delivers output with a short
/// delay, and a process that the command left running may hold the terminal open forever.
const QUIET: Duration = Duration::from_millis(20);

/// A command that is running or has exited.
pub(super) struct NativeProcess {
    sandbox: String,
    program: String,
    directory: PathBuf,
    wire: Arc<InitChannel>,
    /// Fault injector of the sandbox, which also knows the denied system calls.
    supervisor: Option<Arc<FaultInjector>>,
    life: Arc<InitProcessHandle>,
    group: Arc<Option<ControlGroup>>,
    answers: JobAnswers,
    stdin: CommandStdin,
    stdout: ProgramOutputPipe,
    stderr: ProgramOutputPipe,
    /// Caller's end of the terminal, once it is open.
    terminal: Option<OwnedFd>,
    /// Initial stdin of the command, until it can be written.
    input: Vec<u8>,
    began: CommandStartTime,
    deadline: Option<tokio::time::Instant>,
    cpu: Option<CpuTimeWatch>,
    before: CommandStartCounters,
    verdict: CommandKillReason,
    end: Option<JobEnd>,
    /// Unread bytes in the stdout and stderr pipes when the command exited.
    left: (usize, usize),
    is_over: bool,
    buffer: Vec<u8>,
}

/// Start time of the command.
enum CommandStartTime {
    /// Time of the request, by the caller's clock.
    Here(Instant),
    /// Time at which the init process started the command, by its clock. The value is the timeout that runs from
    /// then on.
    There(Option<Duration>),
}

/// Counters at the start of the command.
#[derive(Default)]
struct CommandStartCounters {
    usage: ResourceUsage,
    oom_kills: u64,
}

/// Reason why the caller killed the command, if it did.
#[derive(Default, PartialEq, Eq)]
enum CommandKillReason {
    #[default]
    None,
    TimedOut,
    CpuExceeded,
}

/// Writing end of the command's stdin.
enum CommandStdin {
    Open(pipe::Sender),
    /// The stdin of the request is being written. Dropping this does not stop it.
    Fed(tokio::task::JoinHandle<Option<pipe::Sender>>),
    Closed,
}

impl NativeProcess {
    /// Requests the command. The first report says whether it could be started.
    pub(super) async fn start(sandbox: &NativeSandbox, request: ExecRequest) -> Result<Self, SandboxError> {
        sandbox.check_alive()?;
        let before = CommandStartCounters::read(sandbox.group.as_ref().as_ref())?;
        let counts_cpu = before.usage.cpu_user_ms.is_some();
        let (command, program, descriptors) =
            PreparedCommand::prepare(&sandbox.spec, &sandbox.shared.environment, request, counts_cpu)?;
        let began = CommandStartTime::Here(Instant::now());
        let run = |job| InitRequest::Run { job, program, once: false };
        let answers = sandbox.send_request(run, &descriptors).await?;
        Ok(Self::new(sandbox, command, answers, began, before))
    }

    /// The command that was requested together with its sandbox.
    pub(super) fn of_new_sandbox(
        sandbox: &NativeSandbox,
        command: PreparedCommand,
        answers: JobAnswers,
    ) -> Self {
        let counts_cpu = sandbox.group.as_ref().as_ref().is_some_and(ControlGroup::counts_cpu);
        let nothing = counts_cpu.then_some(0.0);
        let usage =
            ResourceUsage { cpu_user_ms: nothing, cpu_system_ms: nothing, ..ResourceUsage::default() };
        let began = CommandStartTime::There(command.timeout);
        Self::new(sandbox, command, answers, began, CommandStartCounters { usage, oom_kills: 0 })
    }

    fn new(
        sandbox: &NativeSandbox,
        command: PreparedCommand,
        answers: JobAnswers,
        began: CommandStartTime,
        before: CommandStartCounters,
    ) -> Self {
        let counts_cpu = before.usage.cpu_user_ms.is_some();
        let cpu_time = sandbox.spec.limits.cpu_time;
        let mut process = Self {
            sandbox: sandbox.id.clone(),
            program: command.program,
            directory: command.directory,
            wire: Arc::clone(&sandbox.wire),
            supervisor: sandbox.supervisor.clone(),
            life: Arc::clone(&sandbox.life),
            answers,
            stdin: command.stdin.map_or(CommandStdin::Closed, CommandStdin::Open),
            stdout: command.stdout,
            stderr: command.stderr,
            terminal: None,
            input: command.input,
            began,
            deadline: command.timeout.and_then(deadline_after),
            cpu: cpu_time.filter(|_| counts_cpu).map(|time| CpuTimeWatch::new(time, &before.usage)),
            group: Arc::clone(&sandbox.group),
            before,
            verdict: CommandKillReason::None,
            end: None,
            left: (0, 0),
            is_over: false,
            buffer: Vec::new(),
        };
        process.feed();
        process
    }

    /// Writes the request's stdin in a separate task, so that the command's output is read meanwhile.
    fn feed(&mut self) {
        if self.input.is_empty() || !matches!(self.stdin, CommandStdin::Open(_)) {
            return;
        }
        let CommandStdin::Open(mut stdin) = std::mem::replace(&mut self.stdin, CommandStdin::Closed) else {
            return;
        };
        let bytes = std::mem::take(&mut self.input);
        self.stdin = CommandStdin::Fed(tokio::spawn(async move {
            // A command need not read all of its stdin.
            stdin.write_all(&bytes).await.ok()?;
            Some(stdin)
        }));
    }

    /// Waits until the kernel has accepted the program.
    pub(super) async fn wait_until_started(&mut self) -> Result<(), SandboxError> {
        loop {
            match self.answers.next_with_descriptor().await {
                Some((report @ InitReport::Terminal { .. }, terminal)) => {
                    self.handle_report(report, terminal)?;
                }
                Some((InitReport::Started { .. }, _)) => return Ok(()),
                Some((report, descriptor)) => return self.handle_report(report, descriptor),
                None => return Err(self.gone()),
            }
        }
    }

    /// Stores the command's terminal and connects stdin and stdout to it.
    fn has_terminal(&mut self, ours: OwnedFd) -> Result<(), SandboxError> {
        let duplicate = || ours.try_clone().map_err(SandboxError::io("duplicate a terminal descriptor"));
        self.stdout = ProgramOutputPipe::of_terminal(duplicate()?)?;
        self.stdin = CommandStdin::Open(sender(duplicate()?)?);
        self.terminal = Some(ours);
        self.feed();
        Ok(())
    }

    /// Reads all output until the command exits, and keeps it up to the limit.
    pub(super) async fn collect(mut self, limit: u64) -> Result<ExecOutcome, SandboxError> {
        self.end_stdin();
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

    /// Closes stdin.
    pub(super) fn end_stdin(&mut self) {
        self.stdin = CommandStdin::Closed;
    }

    fn gone(&self) -> SandboxError {
        SandboxError::Gone { id: self.sandbox.clone() }
    }

    fn handle_report(&mut self, report: InitReport, descriptor: Option<OwnedFd>) -> Result<(), SandboxError> {
        match report {
            InitReport::Terminal { .. } => match descriptor {
                Some(ours) => self.has_terminal(ours)?,
                None => return Err(SandboxError::Protocol("the descriptor of a terminal is missing".into())),
            },
            InitReport::Ended { end, .. } => {
                self.left = (self.stdout.waiting(), self.stderr.waiting());
                self.end = Some(end);
            }
            InitReport::NotStarted { errno, step, .. } => {
                self.is_over = true;
                return Err(self.not_started(errno, step));
            }
            InitReport::Started { .. } => {
                if let CommandStartTime::There(timeout) = self.began {
                    self.deadline = timeout.and_then(deadline_after);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn not_started(&self, errno: i32, step: ProgramStartStep) -> SandboxError {
        let source = io::Error::from_raw_os_error(errno);
        match step {
            ProgramStartStep::Directory => inside("enter", &self.directory, source),
            ProgramStartStep::Arguments
            | ProgramStartStep::Process
            | ProgramStartStep::Session
            | ProgramStartStep::Streams
            | ProgramStartStep::Terminal
            | ProgramStartStep::InheritedFiles
            | ProgramStartStep::CpuLimit
            | ProgramStartStep::Execute
            | ProgramStartStep::Connect => SandboxError::Start { program: self.program.clone(), source },
        }
    }

    /// Outcome of a command whose sandbox is gone because the kernel ran out of memory for it and killed the init
    /// process: files count as memory and belong to no process.
    fn killed_for_memory(&mut self) -> Option<ExecOutcome> {
        let end = JobEnd { signal: Some(libc::SIGKILL), ..JobEnd::default() };
        self.outcome(end).ok().filter(|outcome| outcome.oom)
    }

    async fn kill_for(&mut self, verdict: CommandKillReason) {
        self.verdict = verdict;
        self.deadline = deadline_after(PATIENCE);
        self.cpu = None;
        self.wire.notify(InitRequest::Kill { job: self.answers.job() }).await;
    }

    /// Reads the output that was in the pipes at exit; processes that the command left running may still hold them open.
    async fn drain(&mut self) -> Option<ProcessEvent> {
        if self.terminal.is_some() {
            return self.drain_terminal().await;
        }
        let printed = self.stdout.try_read(&mut self.left.0).map(ProcessEvent::Stdout);
        printed.or_else(|| self.stderr.try_read(&mut self.left.1).map(ProcessEvent::Stderr))
    }

    async fn drain_terminal(&mut self) -> Option<ProcessEvent> {
        if !self.stdout.is_open() {
            return None;
        }
        self.buffer.resize(CHUNK, 0);
        let length = tokio::time::timeout(QUIET, self.stdout.read(&mut self.buffer)).await.unwrap_or(0);
        let bytes = self.buffer.get(..length).filter(|bytes| !bytes.is_empty())?;
        Some(ProcessEvent::Stdout(bytes.to_vec()))
    }

    fn outcome(&mut self, end: JobEnd) -> Result<ExecOutcome, SandboxError> {
        let wall_ms = match self.began {
            CommandStartTime::Here(instant) => instant.elapsed().as_secs_f64() * 1e3,
            CommandStartTime::There(_) => end.wall_us as f64 / 1e3,
        };
        let mut usage = ResourceUsage {
            cpu_user_ms: Some(end.cpu_user_us as f64 / 1e3),
            cpu_system_ms: Some(end.cpu_system_us as f64 / 1e3),
            peak_rss_bytes: Some(end.largest_process_bytes),
            io_read_bytes: Some(end.io_read_bytes),
            io_write_bytes: Some(end.io_write_bytes),
            cpu_throttled_ms: None,
        };
        let mut oom = false;
        if let Some(group) = self.group.as_ref() {
            let now = group.usage()?;
            (usage.cpu_user_ms, usage.cpu_system_ms) =
                cpu_time::between(&self.before.usage, &now, &usage, end.own_cpu_us as f64 / 1e3);
            usage.peak_rss_bytes = now.peak_rss_bytes.or(usage.peak_rss_bytes);
            oom = group.oom_kills()?.unwrap_or(0) > self.before.oom_kills;
        }
        let mut denied = end.denied;
        denied.extend(self.supervisor.iter().flat_map(|supervisor| supervisor.take_denied()));
        let was_killed = self.verdict != CommandKillReason::None;
        Ok(ExecOutcome {
            exit_code: end.exit_code.filter(|_| !was_killed),
            signal: end.signal.filter(|_| !was_killed),
            timed_out: self.verdict == CommandKillReason::TimedOut,
            cpu_exceeded: self.verdict == CommandKillReason::CpuExceeded || end.signal == Some(libc::SIGXCPU),
            oom,
            disk_full: end.disk_full,
            denied,
            wall_ms,
            usage,
            stdout: String::new(),
            stderr: String::new(),
            truncated: false,
        })
    }
}

#[async_trait]
impl SandboxProcess for NativeProcess {
    async fn next(&mut self) -> Result<ProcessEvent, SandboxError> {
        loop {
            if let Some(end) = self.end.clone() {
                if let Some(event) = self.drain().await {
                    return Ok(event);
                }
                self.is_over = true;
                return self.outcome(end).map(|outcome| ProcessEvent::Exited(Box::new(outcome)));
            }
            self.buffer.resize(CHUNK, 0);
            let (first, second) = self.buffer.split_at_mut(CHUNK / 2);
            let happened = tokio::select! {
                length = self.stdout.read(first) => NativeProcessEvent::Stdout(length),
                length = self.stderr.read(second) => NativeProcessEvent::Stderr(length),
                report = self.answers.next_with_descriptor() => NativeProcessEvent::Report(report),
                () = sleep_until(self.deadline) => NativeProcessEvent::Deadline,
                () = sleep_until(self.cpu.as_ref().and_then(CpuTimeWatch::next_look)) => NativeProcessEvent::CpuLook,
            };
            match happened {
                NativeProcessEvent::Stdout(length) => {
                    if length > 0 {
                        return Ok(ProcessEvent::Stdout(
                            self.buffer.get(..length).unwrap_or_default().to_vec(),
                        ));
                    }
                }
                NativeProcessEvent::Stderr(length) => {
                    if length > 0 {
                        let from = CHUNK / 2;
                        return Ok(ProcessEvent::Stderr(
                            self.buffer.get(from..from + length).unwrap_or_default().to_vec(),
                        ));
                    }
                }
                NativeProcessEvent::Report(Some((report, descriptor))) => {
                    self.handle_report(report, descriptor)?;
                }
                NativeProcessEvent::Report(None) => {
                    self.is_over = true;
                    return match self.killed_for_memory() {
                        Some(outcome) => Ok(ProcessEvent::Exited(Box::new(outcome))),
                        None => Err(self.gone()),
                    };
                }
                NativeProcessEvent::Deadline if self.verdict == CommandKillReason::None => {
                    self.kill_for(CommandKillReason::TimedOut).await;
                }
                // A paused init process cannot kill its paused children; it does so when it is resumed.
                NativeProcessEvent::Deadline if self.life.is_paused() => {
                    self.deadline = deadline_after(PATIENCE);
                }
                // The init process does not answer any more: there is no sandbox to save.
                NativeProcessEvent::Deadline => {
                    self.is_over = true;
                    self.life.kill();
                    return Err(self.gone());
                }
                NativeProcessEvent::CpuLook => {
                    if self.cpu_is_used_up()? {
                        self.kill_for(CommandKillReason::CpuExceeded).await;
                    }
                }
            }
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError> {
        if let CommandStdin::Fed(feeding) = &mut self.stdin {
            self.stdin = feeding.await.ok().flatten().map_or(CommandStdin::Closed, CommandStdin::Open);
        }
        let written = match &mut self.stdin {
            CommandStdin::Open(stdin) => stdin.write_all(bytes).await,
            CommandStdin::Fed(_) | CommandStdin::Closed => Err(io::ErrorKind::BrokenPipe.into()),
        };
        written.map_err(SandboxError::io("write to a command"))
    }

    async fn take_stdin(&mut self) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
        match std::mem::replace(&mut self.stdin, CommandStdin::Closed) {
            CommandStdin::Open(stdin) => Some(Box::new(stdin)),
            CommandStdin::Fed(feeding) => feeding.await.ok().flatten().map(|stdin| Box::new(stdin) as _),
            CommandStdin::Closed => None,
        }
    }

    async fn close_stdin(&mut self) -> Result<(), SandboxError> {
        self.end_stdin();
        Ok(())
    }

    async fn signal(&mut self, signal: i32) -> Result<(), SandboxError> {
        self.wire.notify(InitRequest::Signal { job: self.answers.job(), signal }).await;
        Ok(())
    }

    async fn kill(&mut self) -> Result<(), SandboxError> {
        self.wire.notify(InitRequest::Kill { job: self.answers.job() }).await;
        Ok(())
    }

    async fn resize(&mut self, size: TerminalSize) -> Result<(), SandboxError> {
        match &self.terminal {
            Some(terminal) => resize(terminal, size).map_err(SandboxError::io("resize a terminal")),
            None => Err(SandboxError::Refused {
                problem: "this command has no terminal".into(),
                hint: "request a terminal when starting the command".into(),
            }),
        }
    }
}

impl NativeProcess {
    fn cpu_is_used_up(&mut self) -> Result<bool, SandboxError> {
        let (Some(group), Some(watch)) = (self.group.as_ref(), &mut self.cpu) else { return Ok(false) };
        Ok(watch.is_used_up(&group.usage()?))
    }
}

impl Drop for NativeProcess {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (wire, job) = (Arc::clone(&self.wire), self.answers.job());
        // Without a runtime the whole process is exiting: the sandbox is dropped as well, which kills it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { wire.notify(InitRequest::Kill { job }).await });
        }
    }
}

enum NativeProcessEvent {
    Stdout(usize),
    Stderr(usize),
    Report(Option<(InitReport, Option<OwnedFd>)>),
    Deadline,
    CpuLook,
}

/// Instant after a delay; `None`, meaning never, for a delay that the clock cannot represent.
fn deadline_after(time: Duration) -> Option<tokio::time::Instant> {
    tokio::time::Instant::now().checked_add(time)
}

async fn sleep_until(moment: Option<tokio::time::Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

impl CommandStartCounters {
    fn read(group: Option<&ControlGroup>) -> Result<Self, SandboxError> {
        let Some(group) = group else { return Ok(Self::default()) };
        Ok(Self { usage: group.usage()?, oom_kills: group.oom_kills()?.unwrap_or(0) })
    }
}

/// Watches the CPU time of a sandbox; the next check is at the earliest time at which the limit could be reached.
struct CpuTimeWatch {
    allowed_ms: f64,
    started_with_ms: f64,
    next_look: Option<tokio::time::Instant>,
}

impl CpuTimeWatch {
    fn new(allowed: Duration, now: &ResourceUsage) -> Self {
        let mut watch =
            Self { allowed_ms: allowed.as_secs_f64() * 1e3, started_with_ms: total(now), next_look: None };
        watch.plan(watch.allowed_ms);
        watch
    }

    fn next_look(&self) -> Option<tokio::time::Instant> {
        self.next_look
    }

    /// Whether the CPU time is used up.
    fn is_used_up(&mut self, now: &ResourceUsage) -> bool {
        let left = self.allowed_ms - (total(now) - self.started_with_ms);
        self.plan(left);
        left <= 0.0
    }

    fn plan(&mut self, left_ms: f64) {
        let cores = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
        let earliest = Duration::try_from_secs_f64((left_ms / cores).max(1.0) / 1e3);
        self.next_look = earliest.ok().and_then(deadline_after);
    }
}

fn total(usage: &ResourceUsage) -> f64 {
    cpu_time::sum(usage).unwrap_or(0.0)
}

/// Error about a path inside the sandbox.
pub(super) fn inside(action: &'static str, path: &Path, source: io::Error) -> SandboxError {
    SandboxError::Inside { action, path: path.to_owned(), source }
}
