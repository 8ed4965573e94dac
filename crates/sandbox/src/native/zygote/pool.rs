//! Places for calls with different limits: some for each, opened when the first call asks for them.

use std::sync::Arc;

use menace_model::sandbox::{Controller, Limits};
use tokio::sync::Mutex;

use super::call::{CallLimits, CallSpec, MOST_PLACES, RawOutcome};
use super::calls::{Zygote, ZygoteOptions};
use super::interpreter::Interpreter;
use crate::SandboxError;
use crate::native::NativeBackend;
use crate::native::cgroup::Availability;

/// Memory of a call when nobody says otherwise.
const MEMORY: u64 = 512 << 20;
/// Kinds of places that are open at once. A run goes through its presets in order, so an older one is not asked for again soon.
const MOST_ZYGOTES: usize = 3;

/// Isolated calls of the functions of one repository, each with its own limits.
pub struct Zygotes {
    backend: NativeBackend,
    options: ZygoteOptions,
    interpreter: Arc<Interpreter>,
    /// The one that was asked last is the last.
    started: Mutex<Vec<(CallLimits, Arc<Zygote>)>>,
}

impl Zygotes {
    /// Nothing is started before the first call.
    pub fn new(backend: NativeBackend, options: ZygoteOptions) -> Self {
        // Those that were put away may still have calls under way.
        let most_calls = options.parallel * (MOST_PLACES + MOST_ZYGOTES);
        let interpreter = Interpreter::new(&backend.shared(), &options, most_calls);
        Self { backend, options, interpreter, started: Mutex::default() }
    }

    /// Makes a call in a sandbox of its own, under its limits. What the code does is an outcome, never an error.
    pub async fn call(&self, spec: &CallSpec) -> Result<RawOutcome, SandboxError> {
        self.zygote(spec.limits).await?.call(spec).await
    }

    /// Makes calls of one module under the same limits, one after the other; see [`Zygote::call_batch`].
    pub async fn call_batch(
        &self,
        module: &str,
        specs: &[CallSpec],
    ) -> Result<Vec<RawOutcome>, SandboxError> {
        let Some(first) = specs.first() else { return Ok(Vec::new()) };
        self.zygote(first.limits).await?.call_batch(module, specs).await
    }

    /// How many calls run at once.
    pub fn parallel(&self) -> usize {
        self.options.parallel
    }

    async fn zygote(&self, limits: CallLimits) -> Result<Arc<Zygote>, SandboxError> {
        let mut started = self.started.lock().await;
        if let Some(place) = started.iter().position(|(of, _)| *of == limits) {
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
        let zygote = Arc::new(Zygote::of(&shared, interpreter, self.with(limits)).await?);
        started.push((limits, Arc::clone(&zygote)));
        Ok(zygote)
    }

    fn with(&self, limits: CallLimits) -> ZygoteOptions {
        let usual = &self.options.limits;
        // Whoever wants all of it has to be waited for, so a call has less than a sandbox, where the host can keep that.
        let shared = self.backend.shared();
        let keeper = shared.hierarchies.availability(Controller::Memory);
        let is_kept = matches!(keeper, Availability::Available { .. });
        let memory = limits.memory.or(usual.memory).or_else(|| is_kept.then_some(MEMORY));
        // Files live in memory, so where that is small the usual disk would leave nothing of it.
        let usual_disk = usual.disk.map(|disk| memory.map_or(disk, |memory| disk.min(memory / 2)));
        let parallel = self.options.parallel * limits.places();
        let limits = Limits {
            cpus: limits.cpus.or(usual.cpus),
            memory,
            disk: limits.disk.or(usual_disk),
            ..usual.clone()
        };
        ZygoteOptions { parallel, limits, ..self.options.clone() }
    }
}
