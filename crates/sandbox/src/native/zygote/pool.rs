//! Pool of zygotes for calls with different limits, each started by the first call that needs it.

use std::sync::Arc;

use menace_model::calls::{CallEnvironment, CallLimits, CallSpec, RawOutcome};
use menace_model::sandbox::{ResourceController, SandboxLimits};
use tokio::sync::Mutex;

use super::interpreter::ZygoteInterpreter;
use super::isolated_calls::{Zygote, ZygoteOptions};
use crate::SandboxError;
use crate::native::NativeBackend;
use crate::native::backend::can_have_networks;
use crate::native::cgroup::ControllerAvailability;

/// Default memory limit of a call.
const MEMORY: u64 = 512 << 20;
/// Maximum number of running zygotes. A run goes through its presets in order, so an older one is rarely needed again
/// soon.
const MOST_ZYGOTES: usize = 4;

/// Isolated calls of the functions of one repository, each with its own limits.
pub struct ZygotePool {
    backend: NativeBackend,
    options: ZygoteOptions,
    interpreter: Arc<ZygoteInterpreter>,
    has_networks: bool,
    /// In order of use, most recent last.
    started: Mutex<Vec<(ZygoteKey, Arc<Zygote>)>>,
}

/// Properties that all slots of one zygote share.
#[derive(Debug, Clone, PartialEq)]
struct ZygoteKey {
    limits: CallLimits,
    has_network: bool,
    asked: Vec<u32>,
}

impl ZygoteKey {
    fn plain(spec: &CallSpec) -> Self {
        Self { limits: spec.limits, has_network: false, asked: Vec::new() }
    }

    fn of(spec: &CallSpec) -> Self {
        let asked = crate::faults::numbers(&spec.environment.faults);
        Self { limits: spec.limits, has_network: spec.environment.network.is_some(), asked }
    }
}

fn without_environment(spec: &CallSpec) -> CallSpec {
    CallSpec { environment: CallEnvironment::default(), ..spec.clone() }
}

impl ZygotePool {
    /// Creates the pool. No interpreter is started before the first call.
    pub fn new(backend: NativeBackend, options: ZygoteOptions) -> Self {
        // Evicted zygotes may still have calls under way.
        let maximum_calls = options.parallel * (CallLimits::MAXIMUM_CALLS_PER_SLOT + MOST_ZYGOTES);
        let interpreter = ZygoteInterpreter::new(&backend.shared(), &options, maximum_calls);
        let has_networks = can_have_networks();
        if !has_networks {
            tracing::warn!(
                "calls have no network, because /dev/net/tun cannot be opened; run as root, or chmod 666 /dev/net/tun"
            );
        }
        Self { backend, options, interpreter, has_networks, started: Mutex::default() }
    }

    /// Makes a call in a sandbox of its own, under its limits. A failure of the called code is an outcome, never an
    /// error.
    pub async fn call(&self, spec: &CallSpec) -> Result<RawOutcome, SandboxError> {
        let spec = &self.without_unavailable_network(spec);
        if spec.needs_environment && !spec.environment.is_empty() {
            return self.call_in_environment(spec).await;
        }
        let outcome = self.zygote(ZygoteKey::plain(spec)).await?.call(&without_environment(spec)).await?;
        if spec.environment.was_needed_by(&outcome) {
            self.call_in_environment(spec).await
        } else {
            Ok(outcome)
        }
    }

    /// Removes the network from a spec where interfaces cannot be created: no fault fires on packets that are never
    /// sent, and the classification of the call shows that.
    fn without_unavailable_network(&self, spec: &CallSpec) -> CallSpec {
        let mut spec = spec.clone();
        if spec.environment.network.is_some() && !self.has_networks {
            spec.environment.network = None;
        }
        spec
    }

    async fn call_in_environment(&self, spec: &CallSpec) -> Result<RawOutcome, SandboxError> {
        self.zygote(ZygoteKey::of(spec)).await?.call(spec).await
    }

    /// Makes calls of one module under the same limits, one after the other; see [`Zygote::call_batch`].
    pub async fn call_batch(
        &self,
        module: &str,
        specs: &[CallSpec],
    ) -> Result<Vec<RawOutcome>, SandboxError> {
        let specs: Vec<CallSpec> = specs.iter().map(|spec| self.without_unavailable_network(spec)).collect();
        let Some(first) = specs.first() else { return Ok(Vec::new()) };
        let is_plain = |spec: &&CallSpec| !spec.needs_environment || spec.environment.is_empty();
        let plain: Vec<CallSpec> = specs.iter().filter(is_plain).map(without_environment).collect();
        let made = self.zygote(ZygoteKey::plain(first)).await?.call_batch(module, &plain).await?;
        let mut made = made.into_iter();
        let mut outcomes = Vec::with_capacity(specs.len());
        for spec in &specs {
            let outcome = if is_plain(&spec) { made.next() } else { None };
            outcomes.push(match outcome {
                Some(outcome) if !spec.environment.was_needed_by(&outcome) => outcome,
                // A call environment belongs to one call and is never shared.
                _ => self.call_in_environment(spec).await?,
            });
        }
        Ok(outcomes)
    }

    /// Number of concurrent calls.
    pub fn parallel(&self) -> usize {
        self.options.parallel
    }

    async fn zygote(&self, kind: ZygoteKey) -> Result<Arc<Zygote>, SandboxError> {
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
        let zygote = Arc::new(Zygote::with_interpreter(&shared, interpreter, self.options_for(&kind)).await?);
        started.push((kind, Arc::clone(&zygote)));
        Ok(zygote)
    }

    fn options_for(&self, kind: &ZygoteKey) -> ZygoteOptions {
        let limits = kind.limits;
        let defaults = &self.options.limits;
        // Filling all memory takes long, so a call has a lower limit than a sandbox, where the host can enforce it.
        let shared = self.backend.shared();
        let availability = shared.hierarchies.availability(ResourceController::Memory);
        let is_enforced = matches!(availability, ControllerAvailability::Available { .. });
        let memory = limits.memory.or(defaults.memory).or_else(|| is_enforced.then_some(MEMORY));
        // Files live in memory, so with little memory the default disk would use up all of it.
        let default_disk = defaults.disk.map(|disk| memory.map_or(disk, |memory| disk.min(memory / 2)));
        let calls_per_slot =
            if kind.has_network { CallLimits::MAXIMUM_CALLS_PER_SLOT } else { limits.calls_per_slot() };
        let parallel = self.options.parallel * calls_per_slot;
        let limits = SandboxLimits {
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
