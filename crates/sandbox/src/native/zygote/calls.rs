//! The zygote itself: one interpreter, one repository, many calls.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use menace_enter::zygote::SlotPlan;
use menace_model::network::NetworkReport;
use menace_model::sandbox::{Limits, User};

use super::around::Around;
use super::call::{CallSpec, RawOutcome, World};
use super::interpreter::Interpreter;
use super::keeper::Keeper;
use super::line::Line;
use super::marshal;
use super::slots::{Slot, Slots};
use crate::SandboxError;
use crate::native::NativeBackend;
use crate::native::backend::Shared;
use crate::native::network::INTERFACE;

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
    /// Directories of the repository from which modules are imported, beside the repository itself.
    pub roots: Vec<String>,
    /// Files of the repository that calls import, from its root: they are compiled once.
    pub modules: Vec<String>,
    /// Modules of the standard library that calls find imported. Each makes calls that import it cheaper by
    /// milliseconds, and all others dearer by microseconds: a copy of the interpreter costs what it holds.
    pub warm: Vec<String>,
    /// Calls have an interface beside their loopback.
    pub(super) has_network: bool,
    /// Numbers of system calls that menace is asked about.
    pub(super) asked: Vec<u32>,
}

impl ZygoteOptions {
    fn has_world(&self) -> bool {
        self.has_network || !self.asked.is_empty()
    }

    /// For a repository, with the usual interpreter and limits.
    pub fn new(repository: impl Into<PathBuf>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            repository: repository.into(),
            python: "python3".into(),
            parallel: cores * 2,
            limits: Limits { memory: None, disk: Some(64 << 20), ..Limits::default() },
            roots: Vec::new(),
            modules: Vec::new(),
            warm: Vec::new(),
            has_network: false,
            asked: Vec::new(),
        }
    }
}

/// How often a call is tried because its keeper or its interpreter died.
const ATTEMPTS: u32 = 4;
/// How much longer than its time a call may take to be reported before its interpreter is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// What a call is given is written to its process at once.
const LONGEST_REQUEST: u32 = 1 << 30;

/// Isolated calls of the functions of one repository.
pub struct Zygote {
    options: ZygoteOptions,
    slots: Slots,
    interpreter: Arc<Interpreter>,
}

impl Zygote {
    /// Starts an interpreter and waits until it is ready.
    pub async fn start(backend: &NativeBackend, options: ZygoteOptions) -> Result<Self, SandboxError> {
        let shared = backend.shared();
        let interpreter = Interpreter::new(&shared, &options, options.parallel);
        Self::of(&shared, interpreter, options).await
    }

    /// Opens places for calls of an interpreter.
    pub(super) async fn of(
        shared: &Shared,
        interpreter: Arc<Interpreter>,
        options: ZygoteOptions,
    ) -> Result<Self, SandboxError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        crate::native::limits::check(&options.limits)?;
        let id = format!("zygote-{}", COUNTER.fetch_add(1, Ordering::Relaxed));
        let slots = Slots::new(shared, &options.limits, options.parallel, &id)?;
        let zygote = Self { options, slots, interpreter };
        zygote.open_places().await?;
        Ok(zygote)
    }

    /// Starts all keepers, so that the first calls need not wait for theirs.
    async fn open_places(&self) -> Result<(), SandboxError> {
        let base = self.interpreter.base().await?;
        let plan = self.plan();
        let mut places = Vec::new();
        for _ in 0..self.options.parallel {
            let mut slot = self.slots.take().await;
            if let Some(keeper) = Keeper::start(&base, &plan, slot.joined()).await? {
                slot.leave_keeper(keeper);
            }
            places.push(slot);
        }
        Ok(())
    }

    /// How often the interpreter had to be started again.
    pub fn restarts(&self) -> u64 {
        self.interpreter.restarts()
    }

    /// Makes a call in a sandbox of its own. What the code does is an outcome, never an error.
    pub async fn call(&self, spec: &CallSpec) -> Result<RawOutcome, SandboxError> {
        let mut slot = self.slots.take().await;
        let request = request_of(&spec.request)?;
        for _ in 0..ATTEMPTS {
            let Some(mut keeper) = self.keeper(&mut slot).await? else { continue };
            let around = self.surround(&mut keeper, &spec.world).await?;
            if let Some(mut outcome) = self.call_by(&keeper, &slot, spec.timeout, &request).await? {
                around.tell(&mut outcome)?;
                slot.leave_keeper(keeper);
                return Ok(outcome);
            }
        }
        Err(SandboxError::Protocol(format!("a zygote died {ATTEMPTS} times in a row")))
    }

    /// Waits for a place.
    pub(super) async fn take_slot(&self) -> Slot {
        self.slots.take().await
    }

    /// Bytes of each stream that are kept of a call.
    pub(super) fn output_limit(&self) -> u64 {
        self.options.limits.output
    }

    /// The keeper of a place, with a caller that waits; `None` when it, or the interpreter, is dead.
    pub(super) async fn keeper(&self, slot: &mut Slot) -> Result<Option<Keeper>, SandboxError> {
        let mut keeper = if let Some(keeper) = slot.take_keeper() {
            keeper
        } else {
            let base = self.interpreter.base().await?;
            let Some(keeper) = Keeper::start(&base, &self.plan(), slot.joined()).await? else {
                self.interpreter.give_up(&base).await;
                return Ok(None);
            };
            keeper
        };
        match tokio::time::timeout(PATIENCE, keeper.ready()).await {
            Ok(is_ready) => Ok(is_ready?.then_some(keeper)),
            Err(_) => Err(SandboxError::Protocol("a sandbox for a call does not get ready".into())),
        }
    }

    /// Puts the world around a caller that waits.
    async fn surround(&self, keeper: &mut Keeper, world: &World) -> Result<Around, SandboxError> {
        if !self.options.has_world() {
            return Ok(Around::nothing());
        }
        let base = self.interpreter.base().await?;
        Around::start(keeper.handed_over(), &self.options, world, &base)
    }

    /// Makes a call; `None` when the keeper died.
    async fn call_by(
        &self,
        keeper: &Keeper,
        slot: &Slot,
        timeout: Duration,
        request: &[u8],
    ) -> Result<Option<RawOutcome>, SandboxError> {
        let before = slot.before()?;
        let began = Instant::now();
        let Some(line) = Line::open(keeper, timeout).await? else { return Ok(None) };
        let everything =
            async { tokio::join!(line.converse(request, self.options.limits.output), keeper.end()) };
        let Ok((said, end)) = tokio::time::timeout(timeout.saturating_add(PATIENCE), everything).await else {
            return Err(SandboxError::Protocol("the keeper of a call does not answer".into()));
        };
        let Some(end) = end? else { return Ok(None) };
        let wall_ms = began.elapsed().as_secs_f64() * 1e3;
        let (usage, oom) = slot.after(&before, end.usage)?;
        Ok(Some(RawOutcome {
            returned: said.returned,
            exit_code: end.exit_code.filter(|_| !end.timed_out),
            signal: end.signal.filter(|_| !end.timed_out),
            timed_out: end.timed_out,
            oom,
            disk_full: end.disk_full,
            wall_ms,
            usage,
            truncated: said.stdout.is_truncated || said.stderr.is_truncated,
            stdout: said.stdout.text(),
            stderr: said.stderr.text(),
            network: NetworkReport::default(),
            faults: Vec::new(),
        }))
    }

    fn plan(&self) -> SlotPlan {
        let user = User::default();
        SlotPlan {
            disk: self.options.limits.effective_disk(),
            user: (user.uid, user.gid),
            // The keeper is one of them.
            processes: self.options.limits.effective_pids() + 1,
            open_files: self.options.limits.open_files,
            cpu_seconds: self.options.limits.cpu_time.map(|time| time.as_secs().max(1)),
            data_bytes: self.slots.data_bytes,
            interface: self.options.has_network.then_some(INTERFACE),
            asked: self.options.asked.clone(),
        }
    }
}

/// A message: its length, then what is called.
pub(super) fn request_of(asked: &serde_json::Value) -> Result<Vec<u8>, SandboxError> {
    let body = marshal::to_bytes(asked);
    let length = u32::try_from(body.len()).ok().filter(|length| *length <= LONGEST_REQUEST);
    let length = length.ok_or_else(|| SandboxError::Refused {
        problem: format!("the arguments of a call take {} bytes", body.len()),
        hint: format!("{LONGEST_REQUEST} are the most; pass smaller ones"),
    })?;
    Ok([&length.to_le_bytes()[..], &body].concat())
}
