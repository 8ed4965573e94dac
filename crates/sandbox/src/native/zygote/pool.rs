//! Places for calls with different limits: some for each, opened when the first call asks for them.

use std::sync::Arc;

use menace_model::sandbox::{Controller, Limits};
use tokio::sync::Mutex;

use super::call::{CallLimits, CallSpec, MOST_PLACES, RawOutcome, World};
use super::calls::{Zygote, ZygoteOptions};
use super::interpreter::Interpreter;
use crate::SandboxError;
use crate::native::NativeBackend;
use crate::native::backend::can_have_networks;
use crate::native::cgroup::Availability;

/// Memory of a call when nobody says otherwise.
const MEMORY: u64 = 512 << 20;
/// Kinds of places that are open at once. A run goes through its presets in order, so an older one is not asked for again soon.
const MOST_ZYGOTES: usize = 4;

/// Isolated calls of the functions of one repository, each with its own limits.
pub struct Zygotes {
    backend: NativeBackend,
    options: ZygoteOptions,
    interpreter: Arc<Interpreter>,
    has_networks: bool,
    /// The one that was asked last is the last.
    started: Mutex<Vec<(Kind, Arc<Zygote>)>>,
}

/// What places of one kind have in common.
#[derive(Debug, Clone, PartialEq)]
struct Kind {
    limits: CallLimits,
    has_network: bool,
    asked: Vec<u32>,
}

impl Kind {
    fn plain(spec: &CallSpec) -> Self {
        Self { limits: spec.limits, has_network: false, asked: Vec::new() }
    }

    fn of(spec: &CallSpec) -> Self {
        let asked = crate::faults::numbers(&spec.world.faults);
        Self { limits: spec.limits, has_network: spec.world.network.is_some(), asked }
    }
}

fn without_world(spec: &CallSpec) -> CallSpec {
    CallSpec { world: World::default(), ..spec.clone() }
}

impl Zygotes {
    /// Nothing is started before the first call.
    pub fn new(backend: NativeBackend, options: ZygoteOptions) -> Self {
        // Those that were put away may still have calls under way.
        let most_calls = options.parallel * (MOST_PLACES + MOST_ZYGOTES);
        let interpreter = Interpreter::new(&backend.shared(), &options, most_calls);
        let has_networks = can_have_networks();
        if !has_networks {
            tracing::warn!(
                "calls have no network, because /dev/net/tun cannot be opened\nhint: run as root, or chmod 666 /dev/net/tun"
            );
        }
        Self { backend, options, interpreter, has_networks, started: Mutex::default() }
    }

    /// Makes a call in a sandbox of its own, under its limits. What the code does is an outcome, never an error.
    pub async fn call(&self, spec: &CallSpec) -> Result<RawOutcome, SandboxError> {
        let spec = &self.possible(spec);
        if spec.needs_world && !spec.world.is_empty() {
            return self.call_in_world(spec).await;
        }
        let outcome = self.zygote(Kind::plain(spec)).await?.call(&without_world(spec)).await?;
        if spec.world.is_looked_for(&outcome) { self.call_in_world(spec).await } else { Ok(outcome) }
    }

    /// Where nobody may make interfaces, calls have no network: nothing happens to packets that are never sent, and
    /// whoever judges the call sees that.
    fn possible(&self, spec: &CallSpec) -> CallSpec {
        let mut spec = spec.clone();
        if spec.world.network.is_some() && !self.has_networks {
            spec.world.network = None;
        }
        spec
    }

    async fn call_in_world(&self, spec: &CallSpec) -> Result<RawOutcome, SandboxError> {
        self.zygote(Kind::of(spec)).await?.call(spec).await
    }

    /// Makes calls of one module under the same limits, one after the other; see [`Zygote::call_batch`].
    pub async fn call_batch(
        &self,
        module: &str,
        specs: &[CallSpec],
    ) -> Result<Vec<RawOutcome>, SandboxError> {
        let specs: Vec<CallSpec> = specs.iter().map(|spec| self.possible(spec)).collect();
        let Some(first) = specs.first() else { return Ok(Vec::new()) };
        let is_plain = |spec: &&CallSpec| !spec.needs_world || spec.world.is_empty();
        let plain: Vec<CallSpec> = specs.iter().filter(is_plain).map(without_world).collect();
        let made = self.zygote(Kind::plain(first)).await?.call_batch(module, &plain).await?;
        let mut made = made.into_iter();
        let mut outcomes = Vec::with_capacity(specs.len());
        for spec in &specs {
            let outcome = if is_plain(&spec) { made.next() } else { None };
            outcomes.push(match outcome {
                Some(outcome) if !spec.world.is_looked_for(&outcome) => outcome,
                // A world is one call's: nothing in it is shared.
                _ => self.call_in_world(spec).await?,
            });
        }
        Ok(outcomes)
    }

    /// How many calls run at once.
    pub fn parallel(&self) -> usize {
        self.options.parallel
    }

    async fn zygote(&self, kind: Kind) -> Result<Arc<Zygote>, SandboxError> {
        let mut started = self.started.lock().await;
        if let Some(place) = started.iter().position(|(of, _)| *of == kind) {
            let found = started.remove(place);
            let zygote = Arc::clone(&found.1);
            started.push(found);
            return Ok(zygote);
        }
        if started.len() == MOST_ZYGOTES {
            // Calls that are still under way in it hold it until they end.
            started.remove(0);
        }
        let (shared, interpreter) = (self.backend.shared(), Arc::clone(&self.interpreter));
        let zygote = Arc::new(Zygote::of(&shared, interpreter, self.with(&kind)).await?);
        started.push((kind, Arc::clone(&zygote)));
        Ok(zygote)
    }

    fn with(&self, kind: &Kind) -> ZygoteOptions {
        let limits = kind.limits;
        let usual = &self.options.limits;
        // Whoever wants all of it has to be waited for, so a call has less than a sandbox, where the host can keep that.
        let shared = self.backend.shared();
        let keeper = shared.hierarchies.availability(Controller::Memory);
        let is_kept = matches!(keeper, Availability::Available { .. });
        let memory = limits.memory.or(usual.memory).or_else(|| is_kept.then_some(MEMORY));
        // Files live in memory, so where that is small the usual disk would leave nothing of it.
        let usual_disk = usual.disk.map(|disk| memory.map_or(disk, |memory| disk.min(memory / 2)));
        let places = if kind.has_network { CallLimits::WAITING_PLACES } else { limits.places() };
        let parallel = self.options.parallel * places;
        let limits = Limits {
            cpus: limits.cpus.or(usual.cpus),
            memory,
            disk: limits.disk.or(usual_disk),
            ..usual.clone()
        };
        ZygoteOptions {
            parallel,
            limits,
            has_network: kind.has_network,
            asked: kind.asked.clone(),
            ..self.options.clone()
        }
    }
}
