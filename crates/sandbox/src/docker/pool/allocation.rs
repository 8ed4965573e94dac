//! Allocation of containers: a warm one of the requested kind if available, else a new one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use menace_model::sandbox::{LimitsChange, SandboxSpec};
use tokio::task::AbortHandle;

use super::super::clean_up::{DockerCleanUp, remove_stale};
use super::super::container::{ContainerFactory, ResolvedImage, StartedContainer, new_id};
use super::super::handle::ContainerHandle;
use super::super::janitor::ContainerJanitor;
use super::super::labels::StalenessCriteria;
use super::super::limits::change_limits;
use super::clean_up::FailedContainerRemoval;
use super::creation_failures::CreationFailures;
use super::events::{PoolEvent, PoolObserver, PoolRemovalReason};
use super::key::{PoolKey, has_limits, template};
use super::options::PoolOptions;
use super::register::{ContainerRegister, ContainerRegistration, read_previous_ids};
use super::state::{CapacityPermit, PoolReservation, SharedPoolState};
use crate::SandboxError;

/// Pool of warm containers, and register of all containers of this process.
pub(in super::super) struct ContainerPool {
    pub(super) options: PoolOptions,
    pub(super) maker: ContainerFactory,
    pub(super) observer: Arc<dyn PoolObserver>,
    pub(super) shared: Arc<SharedPoolState<WarmContainer>>,
    pub(super) attempts: CreationFailures,
    pub(super) roll: Arc<ContainerRegister>,
    /// Resources that could not be removed.
    pub(super) failed: Mutex<BTreeMap<String, FailedContainerRemoval>>,
    /// Number of warm containers by image, as last reported.
    told: Mutex<BTreeMap<String, usize>>,
    refilling: Mutex<Option<AbortHandle>>,
}

/// Warm container. Removed when dropped.
pub(super) struct WarmContainer {
    parts: Option<(Arc<ContainerHandle>, ContainerRegistration)>,
    made_for: SandboxSpec,
    janitor: Arc<ContainerJanitor>,
}

/// Container allocated to a caller.
pub(in super::super) struct AllocatedContainer {
    pub(in super::super) made: StartedContainer,
    pub(in super::super) member: PoolMembership,
}

/// Marks a container as in use until this is dropped.
pub(in super::super) struct PoolMembership {
    _seat: CapacityPermit,
    _known: ContainerRegistration,
}

impl WarmContainer {
    pub(super) fn new(
        handle: Arc<ContainerHandle>,
        known: ContainerRegistration,
        made_for: SandboxSpec,
        janitor: Arc<ContainerJanitor>,
    ) -> Self {
        Self { parts: Some((handle, known)), made_for, janitor }
    }

    pub(super) fn handle(&self) -> Option<&Arc<ContainerHandle>> {
        self.parts.as_ref().map(|(handle, _)| handle)
    }

    /// Handle and register entry, for a caller that uses or removes the container. The container stays registered until
    /// the entry is dropped.
    pub(super) fn into_parts(mut self) -> Option<(Arc<ContainerHandle>, ContainerRegistration)> {
        self.parts.take()
    }
}

impl Drop for WarmContainer {
    fn drop(&mut self) {
        if let Some((handle, _)) = &self.parts {
            self.janitor.remove_later(&handle.id);
        }
    }
}

impl ContainerPool {
    /// Removes stale resources of earlier processes and starts to fill the pool. The observer may receive events before
    /// this returns.
    pub(in super::super) async fn open(
        options: PoolOptions,
        maker: ContainerFactory,
        observer: Arc<dyn PoolObserver>,
    ) -> Result<Arc<Self>, SandboxError> {
        let pool = Arc::new(Self {
            maker,
            observer,
            shared: SharedPoolState::new(options.size, options.most),
            attempts: CreationFailures::read(options.failures.clone()),
            roll: ContainerRegister::new(options.active.clone()),
            failed: Mutex::default(),
            told: Mutex::default(),
            refilling: Mutex::default(),
            options,
        });
        // The next clean-up retries, so a failure here is no reason to fail.
        if let Err(error) = pool.purge().await {
            tracing::warn!("failed to remove stale resources of earlier processes: {error}");
        }
        if let Some(usual) = &pool.options.usual {
            pool.record_default_kind(usual.clone()).await;
        }
        if pool.options.size > 0 {
            let task = tokio::spawn(Arc::clone(&pool).refill());
            *pool.refilling.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
        }
        Ok(pool)
    }

    /// Removes stale resources of ended processes.
    async fn purge(&self) -> Result<(), SandboxError> {
        let _lock = crate::files::lock(self.options.lock.as_deref()).await?;
        let keep = self
            .observer
            .sandboxes_to_keep()
            .map_err(SandboxError::io("read the list of sandboxes to keep"))?;
        let listed = self.options.active.as_deref().map(read_previous_ids).unwrap_or_default();
        let stale =
            StalenessCriteria { owner: &self.maker.owner, keep: &keep, listed: &listed, lifetime: None };
        let removed = remove_stale(&self.maker.engine, &stale).await?;
        self.report_removed(removed);
        Ok(())
    }

    /// Learns the default kind. A missing image may exist later, so the kind is learned even if its name cannot be
    /// resolved yet.
    async fn record_default_kind(&self, mut spec: SandboxSpec) {
        let name = spec.image.clone().unwrap_or_else(|| self.maker.default_image.clone());
        let image = match self.maker.check(&mut spec).await {
            Ok(image) => image,
            Err(_) => ResolvedImage { name, id: String::new(), environment: Vec::new() },
        };
        self.record_request(&spec, &image);
    }

    /// Allocates a warm or new container for a sandbox. The spec must have been checked.
    pub(in super::super) async fn allocate(
        &self,
        spec: &SandboxSpec,
        image: &ResolvedImage,
    ) -> Result<AllocatedContainer, SandboxError> {
        let key = PoolKey::of(spec, image);
        let (seat, waiting) = self.reserve(key.as_ref())?;
        if let Some((handle, known)) = self.take(key.as_ref(), waiting, spec).await? {
            let made = self.fill(handle, spec).await?;
            // The next warm container is created with the limits of the last request.
            self.record_request(spec, image);
            return Ok(AllocatedContainer { made, member: PoolMembership { _seat: seat, _known: known } });
        }
        let id = new_id();
        let known = self.roll.register(&id, None);
        let began = Instant::now();
        let made = self.maker.make(spec, image, &id, None).await;
        self.report_creation(&image.name, began, made.as_ref().map(drop), || self.shared.lock().backoff());
        let made = made?;
        known.set_container(&made.handle.container);
        self.record_request(spec, image);
        Ok(AllocatedContainer { made, member: PoolMembership { _seat: seat, _known: known } })
    }

    /// Registers an adopted sandbox.
    pub(in super::super) fn register_adopted(&self, handle: &ContainerHandle) -> PoolMembership {
        let known = self.roll.register(&handle.id, Some(&handle.container));
        PoolMembership { _seat: self.shared.reserve_for_adopted(), _known: known }
    }

    fn reserve(
        &self,
        key: Option<&PoolKey>,
    ) -> Result<(CapacityPermit, Option<WarmContainer>), SandboxError> {
        match self.shared.reserve(key, Instant::now()) {
            Ok(PoolReservation { seat, taken, gave_way }) => {
                self.report_evicted(gave_way);
                Ok((seat, taken))
            }
            Err(there) => {
                self.observer.on_event(PoolEvent::LimitReached);
                Err(SandboxError::Full { there, most: self.options.most })
            }
        }
    }

    /// Removes evicted containers in the background.
    pub(super) fn report_evicted(&self, gone: impl IntoIterator<Item = WarmContainer>) {
        for idle in gone {
            let name = idle.handle().map(|handle| handle.id.clone()).unwrap_or_default();
            drop(idle);
            self.observer.on_event(PoolEvent::Removed { why: PoolRemovalReason::GaveWay, name });
        }
    }

    /// Takes a healthy warm container and applies the requested limits.
    async fn take(
        &self,
        key: Option<&PoolKey>,
        mut waiting: Option<WarmContainer>,
        spec: &SandboxSpec,
    ) -> Result<Option<(Arc<ContainerHandle>, ContainerRegistration)>, SandboxError> {
        while let Some(idle) = waiting {
            self.shared.wake.notify_one();
            self.report_warm_counts();
            match apply_limits(&idle, spec).await {
                Ok(()) => return Ok(idle.into_parts()),
                // The container was ended or removed meanwhile.
                Err(SandboxError::Gone { id }) => {
                    drop(idle);
                    self.observer
                        .on_event(PoolEvent::Removed { why: PoolRemovalReason::Unhealthy, name: id });
                }
                Err(error) => return Err(error),
            }
            waiting = key.and_then(|key| self.shared.lock().take(key, Instant::now()));
        }
        Ok(None)
    }

    async fn fill(
        &self,
        handle: Arc<ContainerHandle>,
        spec: &SandboxSpec,
    ) -> Result<StartedContainer, SandboxError> {
        // On an error or cancellation the container is removed and not reused.
        let guard = ContainerFillGuard { janitor: &self.maker.janitor, id: &handle.id, is_filled: false };
        let since = self.maker.fill(&handle, spec).await?;
        guard.done();
        Ok(StartedContainer { handle, since })
    }

    pub(super) fn record_request(&self, spec: &SandboxSpec, image: &ResolvedImage) {
        let Some(key) = PoolKey::of(spec, image) else { return };
        let gone = self.shared.lock().record_request(key, template(spec, image), &image.name, Instant::now());
        self.report_evicted(gone);
        self.shared.wake.notify_one();
    }

    /// Removes all warm containers and waits for completion.
    pub(in super::super) async fn close(&self) {
        self.stop_filling();
        let all = self.shared.lock().clear();
        let removed = all.into_iter().map(|idle| self.remove_idle(idle, None));
        futures_util::future::join_all(removed).await;
        self.report_warm_counts();
    }

    /// Removes all warm containers without waiting.
    pub(in super::super) fn drop_all(&self) {
        self.stop_filling();
        let all = self.shared.lock().clear();
        drop(all);
    }

    fn stop_filling(&self) {
        let refilling = self.refilling.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = refilling {
            task.abort();
        }
    }

    /// Reports changed numbers of warm containers. Images that are no longer requested are reported with 0.
    pub(super) fn report_warm_counts(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = self.shared.lock().counts();
        for image in told.keys() {
            counts.entry(image.clone()).or_insert(0);
        }
        for (image, count) in &counts {
            if told.get(image) != Some(count) {
                self.observer.on_event(PoolEvent::Waiting { image: image.clone(), count: *count });
            }
        }
        counts.retain(|_, count| *count > 0);
        *told = counts;
    }

    pub(super) fn report_removed(&self, removed: DockerCleanUp) {
        let kinds = [
            (PoolRemovalReason::StaleContainer, removed.containers),
            (PoolRemovalReason::StaleVolume, removed.volumes),
            (PoolRemovalReason::StaleNetwork, removed.networks),
        ];
        for (why, names) in kinds {
            for name in names {
                self.observer.on_event(PoolEvent::Removed { why, name });
            }
        }
        for problem in removed.problems {
            let name = problem.split(' ').next().unwrap_or_default().to_owned();
            self.removal_failed(name, None, problem);
        }
    }

    /// Counts and reports an attempt to create a container.
    pub(super) fn report_creation(
        &self,
        image: &str,
        began: Instant,
        made: Result<(), &SandboxError>,
        backoff: impl FnOnce() -> std::time::Duration,
    ) {
        let took = began.elapsed();
        let image = image.to_owned();
        let event = match made {
            Ok(()) => {
                self.attempts.succeeded(&image);
                PoolEvent::Created { image, took, backoff: backoff() }
            }
            Err(error) => {
                let count = self.attempts.failed(&image);
                if count.consecutive == u64::from(self.options.fail_threshold) {
                    tracing::warn!(
                        "failed to create {} containers of image {image} in a row; see pool_failures.json",
                        count.consecutive
                    );
                }
                let problem = error.to_string();
                let (failures, consecutive) = (count.failures, count.consecutive);
                PoolEvent::CreationFailed { image, took, failures, consecutive, backoff: backoff(), problem }
            }
        };
        self.observer.on_event(event);
    }
}

/// Removes an allocated container that could not be filled.
struct ContainerFillGuard<'a> {
    janitor: &'a ContainerJanitor,
    id: &'a str,
    is_filled: bool,
}

impl ContainerFillGuard<'_> {
    fn done(mut self) {
        self.is_filled = true;
    }
}

impl Drop for ContainerFillGuard<'_> {
    fn drop(&mut self) {
        if !self.is_filled {
            self.janitor.remove_later(self.id);
        }
    }
}

/// Checks that the container still runs and applies the limits of a sandbox to it.
async fn apply_limits(idle: &WarmContainer, spec: &SandboxSpec) -> Result<(), SandboxError> {
    let Some(handle) = idle.handle() else { return Ok(()) };
    handle.running_state().await?;
    if has_limits(&idle.made_for.limits, &spec.limits) {
        return Ok(());
    }
    let change = LimitsChange {
        memory: Some(spec.limits.effective_memory()),
        cpus: spec.limits.cpus,
        pids: Some(spec.limits.effective_pids()),
    };
    change_limits(handle, change).await
}
