//! The zygote itself: one interpreter, one repository, many calls.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use menace_enter::zygote::{CallPlan, KeeperReport};
use menace_model::sandbox::{ExecRequest, Limits, SandboxSpec, Usage, User};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Mutex;

use super::base::Base;
use super::call::{CallSpec, RawOutcome, Returned};
use super::slots::{Slot, Slots};
use crate::SandboxError;
use crate::native::backend::Shared;
use crate::native::handle::unsupported;
use crate::native::pipes::{Kept, Reading, pipe_from_program};
use crate::native::wire::Socket;
use crate::native::{NativeBackend, channel};

/// What a zygote is for.
#[derive(Debug, Clone)]
pub struct ZygoteOptions {
    /// What calls see as `/workspace`, each with a layer of its own.
    pub repository: PathBuf,
    /// The interpreter, looked up in the `PATH` of sandboxes.
    pub python: String,
    /// How many calls run at once.
    pub parallel: usize,
    /// What each call may use.
    pub limits: Limits,
}

impl ZygoteOptions {
    /// For a repository, with the usual interpreter and limits.
    pub fn new(repository: impl Into<PathBuf>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            repository: repository.into(),
            python: "python3".into(),
            parallel: cores * 2,
            limits: Limits { memory: None, disk: Some(64 << 20), ..Limits::default() },
        }
    }
}

/// How often a call is tried again because its interpreter died before the call began.
const ATTEMPTS: u32 = 3;
/// How much longer than its time a call may take to be reported before its interpreter is given up.
const PATIENCE: Duration = Duration::from_secs(5);
/// A longer result is no result.
const LONGEST_RESULT: u32 = 16 << 20;

/// Isolated calls of the functions of one repository.
pub struct Zygote {
    shared: Arc<Shared>,
    options: ZygoteOptions,
    slots: Slots,
    /// Started again when it dies.
    base: Mutex<Option<Arc<Base>>>,
    restarts: AtomicU64,
}

impl Zygote {
    /// Starts an interpreter and waits until it is ready.
    pub async fn start(backend: &NativeBackend, options: ZygoteOptions) -> Result<Self, SandboxError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let shared = backend.shared();
        crate::native::limits::check(&options.limits)?;
        let id = format!("zygote-{}", COUNTER.fetch_add(1, Ordering::Relaxed));
        let slots = Slots::new(&shared, &options.limits, options.parallel, &id)?;
        let base = Base::start(&shared, &options).await?;
        Ok(Self {
            shared,
            options,
            slots,
            base: Mutex::new(Some(Arc::new(base))),
            restarts: AtomicU64::new(0),
        })
    }

    /// How often the interpreter had to be started again.
    pub fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }

    /// Makes a call in a sandbox of its own. What the code does is an outcome, never an error.
    pub async fn call(&self, spec: &CallSpec) -> Result<RawOutcome, SandboxError> {
        let slot = self.slots.take().await;
        let mut attempt = 1;
        loop {
            let base = self.base().await?;
            match self.call_in(&base, &slot, spec).await? {
                Some(outcome) => return Ok(outcome),
                None if attempt < ATTEMPTS => {
                    attempt += 1;
                    self.give_up(&base).await;
                }
                None => return Err(SandboxError::Protocol("a zygote died three times in a row".into())),
            }
        }
    }

    async fn base(&self) -> Result<Arc<Base>, SandboxError> {
        let mut base = self.base.lock().await;
        if let Some(base) = &*base {
            return Ok(Arc::clone(base));
        }
        let started = Arc::new(Base::start(&self.shared, &self.options).await?);
        self.restarts.fetch_add(1, Ordering::Relaxed);
        *base = Some(Arc::clone(&started));
        Ok(started)
    }

    /// Forgets an interpreter that is dead, unless somebody else has already.
    async fn give_up(&self, dead: &Arc<Base>) {
        let mut base = self.base.lock().await;
        if base.as_ref().is_some_and(|current| Arc::ptr_eq(current, dead)) {
            *base = None;
        }
    }

    /// Makes a call; `None` when the interpreter died before the call began.
    async fn call_in(
        &self,
        base: &Base,
        slot: &Slot,
        spec: &CallSpec,
    ) -> Result<Option<RawOutcome>, SandboxError> {
        let before = slot.before()?;
        let began = Instant::now();
        let Some(mut line) = Line::open(base, slot, &self.plan(spec)).await? else { return Ok(None) };
        let request = self.request(spec)?;
        let limit = self.options.limits.output;
        let everything = async {
            // The process may end without reading the request or before it has written a result.
            let sent = line.stream.write_all(&request).await;
            let returned = async { if sent.is_ok() { read_result(&mut line.stream).await } else { None } };
            tokio::join!(
                returned,
                line.stdout.read_to_end(Kept::new(limit)),
                line.stderr.read_to_end(Kept::new(limit)),
                line.status.receive_bytes()
            )
        };
        let Ok((returned, stdout, stderr, report)) =
            tokio::time::timeout(spec.timeout + PATIENCE, everything).await
        else {
            return Err(SandboxError::Protocol("the keeper of a call does not answer".into()));
        };
        let Some(report) = report.map_err(SandboxError::io("hear from a call"))? else {
            let (usage, oom) = slot.after(&before, Usage::default())?;
            // Without a result, a report or a reason, the interpreter went down with everything.
            let is_outcome = oom || returned.is_some();
            return Ok(is_outcome.then(|| killed_keeper(returned, oom, usage, began)));
        };
        let (usage, oom, end) = Self::understand(slot, &before, &report)?;
        Ok(Some(RawOutcome {
            returned,
            exit_code: end.exit_code.filter(|_| !end.timed_out),
            signal: end.signal.filter(|_| !end.timed_out),
            timed_out: end.timed_out,
            oom,
            disk_full: end.disk_full,
            wall_ms: began.elapsed().as_secs_f64() * 1e3,
            usage,
            truncated: stdout.is_truncated || stderr.is_truncated,
            stdout: stdout.text(),
            stderr: stderr.text(),
        }))
    }

    fn plan(&self, spec: &CallSpec) -> CallPlan {
        let user = User::default();
        CallPlan {
            disk: self.options.limits.effective_disk(),
            user: (user.uid, user.gid),
            timeout: spec.timeout,
            processes: self.options.limits.effective_pids() + 1,
            open_files: self.options.limits.open_files,
            cpu_seconds: self.options.limits.cpu_time.map(|time| time.as_secs().max(1)),
            data_bytes: self.slots.data_bytes,
        }
    }

    fn request(&self, spec: &CallSpec) -> Result<Vec<u8>, SandboxError> {
        let mut spec = spec.clone();
        let standard = self.shared.environment.of_command(&SandboxSpec::default(), &ExecRequest::default());
        for (name, value) in standard {
            spec.environment.entry(name).or_insert(value);
        }
        let body = serde_json::to_vec(&spec)
            .map_err(|error| SandboxError::Protocol(format!("a call cannot be written as JSON: {error}")))?;
        let length = u32::try_from(body.len()).map_err(|_| SandboxError::Refused {
            problem: "the arguments of a call are longer than 4 GiB".into(),
            hint: "pass smaller ones".into(),
        })?;
        Ok([&length.to_le_bytes()[..], &body].concat())
    }

    fn understand(
        slot: &Slot,
        before: &super::slots::Before,
        report: &[u8],
    ) -> Result<(Usage, bool, CallEnd), SandboxError> {
        let report = postcard::from_bytes(report).map_err(|error| {
            SandboxError::Protocol(format!("the keeper of a call said nonsense: {error}"))
        })?;
        match report {
            KeeperReport::Failed(error) => Err(unsupported(&error)),
            KeeperReport::Ended {
                exit_code,
                signal,
                timed_out,
                cpu_user_us,
                cpu_system_us,
                largest_process_bytes,
                disk_full,
            } => {
                let measured = Usage {
                    cpu_user_ms: Some(cpu_user_us as f64 / 1e3),
                    cpu_system_ms: Some(cpu_system_us as f64 / 1e3),
                    peak_rss_bytes: Some(largest_process_bytes),
                    io_read_bytes: None,
                    io_write_bytes: None,
                };
                let (usage, oom) = slot.after(before, measured)?;
                Ok((usage, oom, CallEnd { exit_code, signal, timed_out, disk_full }))
            }
        }
    }
}

struct CallEnd {
    exit_code: Option<i32>,
    signal: Option<i32>,
    timed_out: bool,
    disk_full: bool,
}

/// Our ends of what connects a call.
struct Line {
    stream: UnixStream,
    status: Socket,
    stdout: Reading,
    stderr: Reading,
}

impl Line {
    /// Opens everything and hands the other ends to the interpreter; `None` when it is dead.
    async fn open(base: &Base, slot: &Slot, plan: &CallPlan) -> Result<Option<Self>, SandboxError> {
        let (stream, their_stream) = stream_pair().map_err(SandboxError::io("open a stream for a call"))?;
        let (status, their_status) =
            channel::pair().map_err(SandboxError::io("open a channel for a call"))?;
        let (stdout, their_stdout) = pipe_from_program()?;
        let (stderr, their_stderr) = pipe_from_program()?;
        let status = Socket::new(status).map_err(SandboxError::io("watch a call"))?;
        let plan = postcard::to_allocvec(plan)
            .map_err(|error| SandboxError::Protocol(format!("a plan cannot be written: {error}")))?;
        status.send_bytes(&plan, &[]).await.map_err(SandboxError::io("send the plan of a call"))?;
        let ends = [&their_stream, &their_status, &their_stdout, &their_stderr];
        let descriptors: Vec<_> = ends.into_iter().chain(slot.joined()).map(AsFd::as_fd).collect();
        if base.start_call(&descriptors).await.is_err() {
            return Ok(None);
        }
        Ok(Some(Self { stream, status, stdout, stderr }))
    }
}

fn stream_pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let ours = std::os::unix::net::UnixStream::from(ours);
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs))
}

/// Reads the first message. What the code under test writes after it, or instead of it, is not believed further than
/// that: it can lie about its own result and about nothing else.
async fn read_result(stream: &mut UnixStream) -> Option<Returned> {
    let length = stream.read_u32_le().await.ok().filter(|length| *length <= LONGEST_RESULT)?;
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).await.ok()?;
    serde_json::from_slice(&body).ok()
}

/// The zygote answered itself, because there was no fork; or the keeper was killed, by the kernel, after the result.
fn killed_keeper(returned: Option<Returned>, oom: bool, usage: Usage, began: Instant) -> RawOutcome {
    RawOutcome {
        returned,
        exit_code: None,
        // Who was killed for memory was killed by this; of another end nothing is known.
        signal: oom.then_some(libc::SIGKILL),
        timed_out: false,
        oom,
        disk_full: false,
        wall_ms: began.elapsed().as_secs_f64() * 1e3,
        usage,
        stdout: String::new(),
        stderr: String::new(),
        truncated: false,
    }
}
