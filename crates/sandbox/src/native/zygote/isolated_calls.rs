//! Zygote: one interpreter, one repository, many calls.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use menace_isolation::zygote::SlotPlan;
use menace_model::calls::{CallEnvironment, CallSpec, RawOutcome};
use menace_model::harness::HarnessRequest;
use menace_model::sandbox::{SandboxLimits, SandboxUser};

use super::call_environment::RunningCallEnvironment;
use super::call_streams::CallStreams;
use super::interpreter::ZygoteInterpreter;
use super::marshal;
use super::slot_supervisor::SlotSupervisor;
use super::slots::{Slot, SlotPool};
use crate::SandboxError;
use crate::native::NativeBackend;
use crate::native::backend::NativeBackendState;
use crate::native::network::INTERFACE;

/// Options of a zygote.
#[derive(Debug, Clone)]
pub struct ZygoteOptions {
    /// Repository that calls see as `/workspace`, each with a layer of its own.
    pub repository: PathBuf,
    /// Interpreter, looked up in the `PATH` of sandboxes.
    pub python: String,
    /// Number of concurrent calls.
    pub parallel: usize,
    /// Resource limits of each call.
    pub limits: SandboxLimits,
    /// Directories of the repository from which modules are imported, beside the repository itself.
    pub roots: Vec<String>,
    /// Files of the repository that calls import, relative to its root: they are compiled once.
    pub modules: Vec<String>,
    /// Modules of the standard library that are imported before calls. Each saves milliseconds in calls that import
    /// it and costs microseconds in all others: a fork costs as much as the interpreter's memory.
    pub warm: Vec<String>,
    /// Calls have a network interface beside their loopback.
    pub(super) has_network: bool,
    /// Numbers of the system calls that the fault injector decides.
    pub(super) asked: Vec<u32>,
}

impl ZygoteOptions {
    fn has_environment(&self) -> bool {
        self.has_network || !self.asked.is_empty()
    }

    /// Options for a repository with the default interpreter and limits.
    pub fn new(repository: impl Into<PathBuf>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            repository: repository.into(),
            python: "python3".into(),
            parallel: cores * 2,
            limits: SandboxLimits { memory: None, disk: Some(64 << 20), ..SandboxLimits::default() },
            roots: Vec::new(),
            modules: Vec::new(),
            warm: Vec::new(),
            has_network: false,
            asked: Vec::new(),
        }
    }
}

/// Attempts at a call whose slot supervisor or interpreter died.
const ATTEMPTS: u32 = 4;
/// Grace period after the timeout of a call, until its interpreter is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Maximum size of a request, which is written to the call's process in one piece.
const LONGEST_REQUEST: u32 = 1 << 30;

/// Isolated calls of the functions of one repository.
pub struct Zygote {
    options: ZygoteOptions,
    slots: SlotPool,
    interpreter: Arc<ZygoteInterpreter>,
}

impl Zygote {
    /// Starts an interpreter and waits until it is ready.
    pub async fn start(backend: &NativeBackend, options: ZygoteOptions) -> Result<Self, SandboxError> {
        let shared = backend.shared();
        let interpreter = ZygoteInterpreter::new(&shared, &options, options.parallel);
        Self::with_interpreter(&shared, interpreter, options).await
    }

    /// Opens call slots of an interpreter.
    pub(super) async fn with_interpreter(
        shared: &NativeBackendState,
        interpreter: Arc<ZygoteInterpreter>,
        options: ZygoteOptions,
    ) -> Result<Self, SandboxError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        crate::native::limits::check(&options.limits)?;
        let id = format!("zygote-{}", COUNTER.fetch_add(1, Ordering::Relaxed));
        let slots = SlotPool::new(shared, &options.limits, options.parallel, &id)?;
        let zygote = Self { options, slots, interpreter };
        zygote.start_slot_supervisors().await?;
        Ok(zygote)
    }

    /// Starts all slot supervisors, so that the first calls need not wait for theirs.
    async fn start_slot_supervisors(&self) -> Result<(), SandboxError> {
        let base = self.interpreter.base().await?;
        let plan = self.plan();
        let mut slots = Vec::new();
        for _ in 0..self.options.parallel {
            let mut slot = self.slots.take().await;
            if let Some(supervisor) = SlotSupervisor::start(&base, &plan, slot.joined()).await? {
                slot.return_supervisor(supervisor);
            }
            slots.push(slot);
        }
        Ok(())
    }

    /// Number of restarts of the interpreter.
    pub fn restarts(&self) -> u64 {
        self.interpreter.restarts()
    }

    /// Makes a call in a sandbox of its own. A failure of the called code is an outcome, never an error.
    pub async fn call(&self, spec: &CallSpec) -> Result<RawOutcome, SandboxError> {
        let mut slot = self.slots.take().await;
        let request = encode_request(&spec.request)?;
        for _ in 0..ATTEMPTS {
            let Some(mut supervisor) = self.ready_supervisor(&mut slot).await? else { continue };
            let environment = self.start_environment(&mut supervisor, &spec.environment).await?;
            let made = self.call_through(&supervisor, &slot, spec.timeout, &request).await?;
            if let Some((mut outcome, answer)) = made {
                outcome.reply = answer.map(|answer| spec.request.parse_reply(&answer));
                environment.add_reports_to(&mut outcome)?;
                slot.return_supervisor(supervisor);
                return Ok(outcome);
            }
        }
        Err(SandboxError::Protocol(format!("the zygote died {ATTEMPTS} times in a row")))
    }

    /// Waits for a free slot.
    pub(super) async fn take_slot(&self) -> Slot {
        self.slots.take().await
    }

    /// Bytes of stdout and of stderr that are kept of a call.
    pub(super) fn output_limit(&self) -> u64 {
        self.options.limits.output
    }

    /// Supervisor of a slot with a call process that is ready; `None` when it, or the interpreter, is dead.
    pub(super) async fn ready_supervisor(
        &self,
        slot: &mut Slot,
    ) -> Result<Option<SlotSupervisor>, SandboxError> {
        let mut supervisor = if let Some(supervisor) = slot.take_supervisor() {
            supervisor
        } else {
            let base = self.interpreter.base().await?;
            let Some(supervisor) = SlotSupervisor::start(&base, &self.plan(), slot.joined()).await? else {
                self.interpreter.give_up(&base).await;
                return Ok(None);
            };
            supervisor
        };
        match tokio::time::timeout(PATIENCE, supervisor.ready()).await {
            Ok(is_ready) => Ok(is_ready?.then_some(supervisor)),
            Err(_) => Err(SandboxError::Protocol("timeout while waiting for the sandbox of a call".into())),
        }
    }

    /// Starts the environment of a call whose process is ready.
    async fn start_environment(
        &self,
        supervisor: &mut SlotSupervisor,
        environment: &CallEnvironment,
    ) -> Result<RunningCallEnvironment, SandboxError> {
        if !self.options.has_environment() {
            return Ok(RunningCallEnvironment::empty());
        }
        let base = self.interpreter.base().await?;
        RunningCallEnvironment::start(supervisor.handed_over(), &self.options, environment, &base)
    }

    /// Makes a call and returns its outcome and the answer of the harness; `None` when the slot supervisor died.
    async fn call_through(
        &self,
        supervisor: &SlotSupervisor,
        slot: &Slot,
        timeout: Duration,
        request: &[u8],
    ) -> Result<Option<(RawOutcome, Option<Vec<u8>>)>, SandboxError> {
        let before = slot.before()?;
        let began = Instant::now();
        let Some(streams) = CallStreams::open(supervisor, timeout).await? else { return Ok(None) };
        let everything =
            async { tokio::join!(streams.exchange(request, self.options.limits.output), supervisor.end()) };
        let Ok((reply, end)) = tokio::time::timeout(timeout.saturating_add(PATIENCE), everything).await
        else {
            return Err(SandboxError::Protocol("the slot supervisor does not answer".into()));
        };
        let Some(end) = end? else { return Ok(None) };
        let wall_ms = began.elapsed().as_secs_f64() * 1e3;
        let (usage, oom) = slot.after(&before, end.usage)?;
        let outcome = RawOutcome {
            exit_code: end.exit_code.filter(|_| !end.timed_out),
            signal: end.signal.filter(|_| !end.timed_out),
            timed_out: end.timed_out,
            oom,
            disk_full: end.disk_full,
            wall_ms,
            usage,
            truncated: reply.stdout.is_truncated || reply.stderr.is_truncated,
            stdout: reply.stdout.text(),
            stderr: reply.stderr.text(),
            ..RawOutcome::default()
        };
        Ok(Some((outcome, reply.answer)))
    }

    fn plan(&self) -> SlotPlan {
        let user = SandboxUser::default();
        SlotPlan {
            disk: self.options.limits.effective_disk(),
            user: (user.uid, user.gid),
            // The slot supervisor counts as one.
            processes: self.options.limits.effective_pids() + 1,
            open_files: self.options.limits.open_files,
            cpu_seconds: self.options.limits.cpu_time.map(|time| time.as_secs().max(1)),
            data_bytes: self.slots.data_bytes,
            interface: self.options.has_network.then_some(INTERFACE),
            asked: self.options.asked.clone(),
        }
    }
}

/// Encodes a request: its length, then its body.
pub(super) fn encode_request(request: &HarnessRequest) -> Result<Vec<u8>, SandboxError> {
    let request = serde_json::to_value(request).expect("every request has a JSON form: its keys are strings");
    let body = marshal::to_bytes(&request);
    let length = u32::try_from(body.len()).ok().filter(|length| *length <= LONGEST_REQUEST);
    let length = length.ok_or_else(|| SandboxError::Refused {
        problem: format!("the arguments of the call have {} bytes", body.len()),
        hint: format!("pass at most {LONGEST_REQUEST} bytes"),
    })?;
    Ok([&length.to_le_bytes()[..], &body].concat())
}
