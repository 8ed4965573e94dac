//! Pool of zygotes for calls with different limits, each started by the first call that needs it.

use std::sync::Arc;

use menace_model::sandbox::{Controller, Limits};
use tokio::sync::Mutex;

use super::call::{CallLimits, CallSpec, MAXIMUM_CALLS_PER_SLOT, RawOutcome, World};
use super::calls::{Zygote, ZygoteOptions};
use super::interpreter::Interpreter;
use crate::SandboxError;
use crate::native::NativeBackend;
use crate::native::backend::can_have_networks;
use crate::native::cgroup::Availability;

/// Default memory limit of a call.
const MEMORY: u64 = 512 << 20;
/// Maximum number of running zygotes. A run goes through its presets in order, so an older one is rarely needed again
/// soon.
const MOST_ZYGOTES: usize = 4;

/// Isolated calls of the functions of one repository, each with its own limits.
pub struct Zygotes {
    backend: NativeBackend,
    options: ZygoteOptions,
    interpreter: Arc<Interpreter>,
    has_networks: bool,
    /// In order of use, most recent last.
    started: Mutex<Vec<(Kind, Arc<Zygote>)>>,
}

/// Properties that all slots of one zygote share.
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

fn without_environment(spec: &CallSpec) -> CallSpec {
    CallSpec { world: World::default(), ..spec.clone() }
}

impl Zygotes {
    /// Creates the pool. No interpreter is started before the first call.
    pub fn new(backend: NativeBackend, options: ZygoteOptions) -> Self {
        // Evicted zygotes may still have calls under way.
        let maximum_calls = options.parallel * (MAXIMUM_CALLS_PER_SLOT + MOST_ZYGOTES);
        let interpreter = Interpreter::new(&backend.shared(), &options, maximum_calls);
        let has_networks = can_have_networks();
        if !has_networks {
            tracing::warn!(
                "calls have no network, because /dev/net/tun cannot be opened\nhint: run as root, or chmod 666 /dev/net/tun"
            );
        }
        Self { backend, options, interpreter, has_networks, started: Mutex::default() }
    }

    /// Makes a call in a sandbox of its own, under its limits. A failure of the called code is an outcome, never an
    /// error.
    pub async fn call(&self, spec: &CallSpec) -> Result<RawOutcome, SandboxError> {
        let spec = &self.possible(spec);
        if spec.needs_world && !spec.world.is_empty() {
            return self.call_in_world(spec).await;
        }
        let outcome = self.zygote(Kind::plain(spec)).await?.call(&without_environment(spec)).await?;
        if spec.world.is_looked_for(&outcome) { self.call_in_world(spec).await } else { Ok(outcome) }
    }

    /// Removes the network from a spec where interfaces cannot be created: no fault fires on packets that are never
    /// sent, and the classification of the call shows that.
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
        let plain: Vec<CallSpec> = specs.iter().filter(is_plain).map(without_environment).collect();
        let made = self.zygote(Kind::plain(first)).await?.call_batch(module, &plain).await?;
        let mut made = made.into_iter();
        let mut outcomes = Vec::with_capacity(specs.len());
        for spec in &specs {
            let outcome = if is_plain(&spec) { made.next() } else { None };
            outcomes.push(match outcome {
                Some(outcome) if !spec.world.is_looked_for(&outcome) => outcome,
                // A call environment belongs to one call and is never shared.
                _ => self.call_in_world(spec).await?,
            });
        }
        Ok(outcomes)
    }

    /// Number of concurrent calls.
    pub fn parallel(&self) -> usize {
        self.options.parallel
    }

    async fn zygote(&self, kind: Kind) -> Result<Arc<Zygote>, SandboxError> {
        let mut started = self.started.lock().await;
        if let Some(position) = started.iter().position(|(of, _)| *of == kind) {
            let found = started.remove(position);
            let zygote = Arc::clone(&found.1);
            started.push(found);
            return Ok(zygote);
        }
        if started.len() == MOST_ZYGOTES {
            // Calls that are still under way keep the evicted zygote alive until they end.
            started.remove(0);
        }
        let (shared, interpreter) = (self.backend.shared(), Arc::clone(&self.interpreter));
        let zygote = Arc::new(Zygote::of(&shared, interpreter, self.with(&kind)).await?);
        started.push((kind, Arc::clone(&zygote)));
        Ok(zygote)
    }

    fn with(&self, kind: &Kind) -> ZygoteOptions {
        let limits = kind.limits;
        let defaults = &self.options.limits;
        // Filling all memory takes long, so a call has a lower limit than a sandbox, where the host can enforce it.
        let shared = self.backend.shared();
        let availability = shared.hierarchies.availability(Controller::Memory);
        let is_enforced = matches!(availability, Availability::Available { .. });
        let memory = limits.memory.or(defaults.memory).or_else(|| is_enforced.then_some(MEMORY));
        // Files live in memory, so with little memory the default disk would use up all of it.
        let default_disk = defaults.disk.map(|disk| memory.map_or(disk, |memory| disk.min(memory / 2)));
        let calls_per_slot = if kind.has_network { CallLimits::WAITING_PLACES } else { limits.places() };
        let parallel = self.options.parallel * calls_per_slot;
        let limits = Limits {
            cpus: limits.cpus.or(defaults.cpus),
            memory,
            disk: limits.disk.or(default_disk),
            ..defaults.clone()
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
