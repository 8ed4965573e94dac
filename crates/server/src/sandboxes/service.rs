//! All sandboxes of the service: creation, lookup and state changes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::StatusCode;
use menace_model::sandbox::SandboxUser;
use menace_sandbox::Sandbox;

use super::backends::RunningBackends;
use super::entry::{SandboxEntry, StoredSnapshot, lock};
use super::events::SandboxEventLog;
use super::idempotency::IdempotencyKeys;
use super::records::{SandboxRecord, SandboxRecords};
use super::requests::{BackendName, CreateSandboxRequest};
use super::tenants::{Caller, TenantReservations};
use super::views::SandboxStatus;
use crate::cleanup::ServicePoolObserver;
use crate::clock;
use crate::error::ApiError;
use crate::metrics::DaemonMetrics;

/// Limits of the service that apply to all sandboxes.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServiceLimits {
    /// Maximum number of sandboxes.
    pub sandboxes: Option<usize>,
    /// Maximum lifetime of a sandbox, even if the request asks for more.
    pub lifetime: Option<Duration>,
    /// Default idle timeout.
    pub idle: Option<Duration>,
    /// Default user of commands in containers.
    pub container_user: Option<SandboxUser>,
    /// Disk usage in bytes above which a container is destroyed.
    pub container_disk: Option<u64>,
}

/// All sandboxes of the service.
pub struct SandboxService {
    pub(crate) backends: RunningBackends,
    pub(super) limits: ServiceLimits,
    pub(super) entries: Mutex<BTreeMap<String, Arc<SandboxEntry>>>,
    /// Snapshots of all sandboxes; they outlive their sandboxes.
    snapshots: Mutex<BTreeMap<String, Arc<StoredSnapshot>>>,
    pub(super) tenants: Arc<TenantReservations>,
    idempotency: IdempotencyKeys,
    next_snapshot: AtomicU64,
    /// Records of sandboxes that outlive this process.
    pub(super) records: Option<SandboxRecords>,
    /// Events of all sandboxes.
    pub happenings: Arc<SandboxEventLog>,
    /// Prometheus metrics.
    pub metrics: Arc<DaemonMetrics>,
}

impl SandboxService {
    /// Creates the service without sandboxes.
    pub fn new(backends: RunningBackends, limits: ServiceLimits, records: Option<SandboxRecords>) -> Self {
        let (happenings, metrics) = (Arc::<SandboxEventLog>::default(), Arc::<DaemonMetrics>::default());
        backends.observed_by(Arc::new(ServicePoolObserver {
            metrics: Arc::clone(&metrics),
            happenings: Arc::clone(&happenings),
            records: records.clone(),
        }));
        Self {
            backends,
            limits,
            entries: Mutex::default(),
            snapshots: Mutex::default(),
            tenants: Arc::default(),
            idempotency: IdempotencyKeys::default(),
            next_snapshot: AtomicU64::new(1),
            records,
            happenings,
            metrics,
        }
    }

    /// Creates a sandbox, or returns the one created earlier for the same idempotency key.
    pub async fn create_once(
        self: &Arc<Self>,
        caller: &Caller,
        key: Option<&str>,
        wanted: CreateSandboxRequest,
        body: &[u8],
    ) -> Result<Arc<SandboxEntry>, ApiError> {
        let Some(key) = key else { return self.create(caller, wanted).await };
        let made = self.idempotency.place(caller.key.as_deref(), key, blake3::hash(body))?;
        let mut created = None;
        let id = made
            .sandbox
            .get_or_try_init(|| async {
                let entry = self.create(caller, wanted).await?;
                let id = entry.id.clone();
                created = Some(entry);
                Ok::<_, ApiError>(id)
            })
            .await?;
        created.map_or_else(|| self.find(caller, id), Ok)
    }

    /// Creates a sandbox. If the caller disconnects meanwhile, creation continues and the sandbox is listed as usual.
    pub async fn create(
        self: &Arc<Self>,
        caller: &Caller,
        wanted: CreateSandboxRequest,
    ) -> Result<Arc<SandboxEntry>, ApiError> {
        wanted.check()?;
        let (this, caller) = (Arc::clone(self), caller.clone());
        let creation = tokio::spawn(async move { this.make(&caller, &wanted).await });
        creation.await.map_err(|error| ApiError::internal(format!("failed to create a sandbox: {error}")))?
    }

    async fn make(
        &self,
        caller: &Caller,
        wanted: &CreateSandboxRequest,
    ) -> Result<Arc<SandboxEntry>, ApiError> {
        let began = std::time::Instant::now();
        let snapshot = match &wanted.snapshot {
            Some(id) => Some(self.snapshot(caller, id)?),
            None => None,
        };
        let name =
            snapshot.as_ref().map_or(wanted.backend.unwrap_or(self.backends.usual), |kept| kept.backend);
        let mut spec = snapshot.as_ref().map_or_else(|| wanted.spec(), |kept| kept.files.spec.clone());
        spec.labels.clone_from(&wanted.labels);
        if let (BackendName::Docker, None, None, Some(user)) =
            (name, wanted.user, &snapshot, self.limits.container_user)
        {
            spec.user = user;
        }
        self.check_sandbox_limit()?;
        let reservation = self.tenants.reserve(caller, &spec.limits)?;
        let backend = self.backends.get(name).await?;
        let made: Result<Arc<dyn Sandbox>, _> = match &snapshot {
            None => backend.create(spec.clone()).await,
            Some(kept) => backend.fork(&kept.files).await,
        };
        let sandbox = match made {
            Ok(sandbox) => sandbox,
            Err(error) => {
                self.metrics.not_made(name);
                return Err(error.into());
            }
        };
        let entry = Arc::new(SandboxEntry::new(sandbox, spec, wanted, name, caller, reservation));
        if let Some(lifetime) = self.limits.lifetime {
            let most = entry.created_ms + i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
            entry.change(|now| now.expires_ms = Some(now.expires_ms.map_or(most, |asked| asked.min(most))));
        }
        if entry.now().idle.is_none() {
            entry.change(|now| now.idle = self.limits.idle);
        }
        if backend.capabilities().outlives
            && let Err(error) = self.write_record(&entry, wanted)
        {
            // Without a record the next daemon would not know the sandbox.
            entry.sandbox.destroy().await?;
            return Err(ApiError::internal(format!("failed to record the sandbox: {error}")));
        }
        lock(&self.entries).insert(entry.id.clone(), Arc::clone(&entry));
        self.metrics.made(name, began.elapsed());
        self.tell("sandbox.created", &entry, None);
        Ok(entry)
    }

    fn write_record(&self, entry: &SandboxEntry, wanted: &CreateSandboxRequest) -> std::io::Result<()> {
        let Some(records) = &self.records else { return Ok(()) };
        records.write(&SandboxRecord {
            version: 1,
            id: entry.id.clone(),
            backend: entry.backend,
            owner: entry.owner.clone(),
            created_ms: entry.created_ms,
            wanted: wanted.clone(),
            spec: entry.spec.clone(),
            now: None,
        })
    }

    /// Updates the record of a sandbox that outlives this process.
    pub(crate) fn update_record(&self, entry: &SandboxEntry) -> Result<(), ApiError> {
        let Some(records) = &self.records else { return Ok(()) };
        records.change(&entry.id, entry.now()).map_err(|error| {
            ApiError::internal(format!(
                "the sandbox was changed, but its record could not be updated: {error}"
            ))
            .hint("the operator has to check the disk of the server")
        })
    }

    pub(super) fn forget_record(&self, id: &str) {
        if let Some(records) = &self.records {
            records.forget(id);
        }
    }

    fn check_sandbox_limit(&self) -> Result<(), ApiError> {
        let count = lock(&self.entries).len();
        match self.limits.sandboxes {
            Some(most) if count >= most => Err(ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too_many_sandboxes",
                format!("sandbox limit reached: {count} of {most} in use"),
            )
            .hint("destroy unused sandboxes, or start the server with a higher limit")),
            _ => Ok(()),
        }
    }

    /// Finds a sandbox that the caller may access.
    pub fn find(&self, caller: &Caller, id: &str) -> Result<Arc<SandboxEntry>, ApiError> {
        let found = lock(&self.entries).get(id).cloned();
        found.filter(|entry| may_access(caller, entry.owner.as_ref())).ok_or_else(|| ApiError::no_sandbox(id))
    }

    /// All sandboxes that the caller may access, oldest first.
    pub fn all(&self, caller: &Caller) -> Vec<Arc<SandboxEntry>> {
        let mut all: Vec<Arc<SandboxEntry>> = lock(&self.entries).values().cloned().collect();
        all.retain(|entry| may_access(caller, entry.owner.as_ref()));
        all.sort_by(|one, other| (one.created_ms, &one.id).cmp(&(other.created_ms, &other.id)));
        all
    }

    /// Number of sandboxes.
    pub fn len(&self) -> usize {
        lock(&self.entries).len()
    }

    /// True if there are no sandboxes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Destroys a sandbox. It is removed from listings first.
    pub async fn destroy(&self, entry: &Arc<SandboxEntry>, why: &str) -> Result<(), ApiError> {
        if lock(&self.entries).remove(&entry.id).is_none() {
            return Err(ApiError::no_sandbox(&entry.id));
        }
        self.idempotency.forget(&entry.id);
        let began = std::time::Instant::now();
        let destroyed = entry.sandbox.destroy().await;
        if destroyed.is_ok() {
            self.forget_record(&entry.id);
        }
        self.metrics.ended(entry.backend, began.elapsed());
        self.tell("sandbox.destroyed", entry, Some(why.to_owned()));
        Ok(destroyed?)
    }

    /// Ends the processes of a sandbox and keeps its files.
    pub async fn stop(&self, entry: &Arc<SandboxEntry>, why: &str) -> Result<(), ApiError> {
        // From now on new commands are rejected; running ones end.
        let before = entry.change(|now| std::mem::replace(&mut now.status, SandboxStatus::Stopped));
        if before == SandboxStatus::Stopped {
            return Ok(());
        }
        if let Err(error) = entry.sandbox.stop().await {
            entry.change(|now| now.status = before);
            return Err(error.into());
        }
        self.tell("sandbox.stopped", entry, Some(why.to_owned()));
        self.update_record(entry)
    }

    /// Starts a stopped sandbox, or resumes a paused one.
    pub async fn start(&self, entry: &Arc<SandboxEntry>) -> Result<(), ApiError> {
        match entry.now().status {
            SandboxStatus::Running => Ok(()),
            SandboxStatus::Paused => self.resume(entry).await,
            SandboxStatus::Stopped => {
                entry.sandbox.start().await?;
                entry.change(|now| now.status = SandboxStatus::Running);
                drop(entry.used());
                self.tell("sandbox.started", entry, None);
                self.update_record(entry)
            }
        }
    }

    /// Pauses a sandbox.
    pub async fn pause(&self, entry: &Arc<SandboxEntry>) -> Result<(), ApiError> {
        if entry.now().status == SandboxStatus::Stopped {
            return Err(ApiError::conflict("sandbox_not_running", "sandbox is stopped, not running"));
        }
        entry.sandbox.pause().await?;
        entry.change(|now| now.status = SandboxStatus::Paused);
        self.tell("sandbox.paused", entry, None);
        Ok(())
    }

    /// Resumes a paused sandbox.
    pub async fn resume(&self, entry: &Arc<SandboxEntry>) -> Result<(), ApiError> {
        if entry.now().status == SandboxStatus::Stopped {
            return Err(ApiError::conflict("sandbox_not_running", "sandbox is stopped, not paused")
                .hint("start it with POST …/start"));
        }
        entry.sandbox.resume().await?;
        entry.change(|now| now.status = SandboxStatus::Running);
        self.tell("sandbox.resumed", entry, None);
        Ok(())
    }

    /// Takes a snapshot of the files of a sandbox.
    pub async fn take_snapshot(
        &self,
        entry: &Arc<SandboxEntry>,
        name: String,
    ) -> Result<Arc<StoredSnapshot>, ApiError> {
        let _used = entry.used();
        let files = entry.sandbox.snapshot().await?;
        let number = self.next_snapshot.fetch_add(1, Ordering::Relaxed);
        let kept = Arc::new(StoredSnapshot {
            id: format!("sn-{:x}-{number}", clock::now_ms()),
            name,
            created_ms: clock::now_ms(),
            sandbox: entry.id.clone(),
            owner: entry.owner.clone(),
            backend: entry.backend,
            files,
        });
        lock(&self.snapshots).insert(kept.id.clone(), Arc::clone(&kept));
        entry.keep_snapshot(Arc::clone(&kept));
        Ok(kept)
    }

    /// Finds a snapshot that the caller may access.
    pub fn snapshot(&self, caller: &Caller, id: &str) -> Result<Arc<StoredSnapshot>, ApiError> {
        let found = lock(&self.snapshots).get(id).cloned();
        found
            .filter(|kept| may_access(caller, kept.owner.as_ref()))
            .ok_or_else(|| ApiError::nothing("snapshot", id))
    }

    /// All snapshots that the caller may access.
    pub fn snapshots(&self, caller: &Caller) -> Vec<Arc<StoredSnapshot>> {
        let mut all: Vec<Arc<StoredSnapshot>> = lock(&self.snapshots).values().cloned().collect();
        all.retain(|kept| may_access(caller, kept.owner.as_ref()));
        all
    }

    /// Deletes a snapshot. Its files are removed with the last sandbox created from it.
    pub fn forget_snapshot(&self, caller: &Caller, id: &str) -> Result<(), ApiError> {
        self.snapshot(caller, id)?;
        lock(&self.snapshots).remove(id);
        for entry in lock(&self.entries).values() {
            entry.forget_snapshot(id);
        }
        Ok(())
    }

    /// Checks that the default backend can be used.
    pub async fn check(&self) -> Result<BackendName, ApiError> {
        self.backends.get(self.backends.usual).await?;
        Ok(self.backends.usual)
    }

    /// Capabilities of a backend.
    pub async fn capabilities(
        &self,
        name: Option<BackendName>,
    ) -> Result<menace_model::sandbox::BackendCapabilities, ApiError> {
        Ok(self.backends.get(name.unwrap_or(self.backends.usual)).await?.capabilities())
    }

    pub(super) fn tell(&self, event: &str, entry: &SandboxEntry, detail: Option<String>) {
        self.happenings.publish(event, &entry.id, entry.owner.as_deref(), detail);
    }
}

fn may_access(caller: &Caller, owner: Option<&String>) -> bool {
    caller.key.is_none() || caller.key.as_ref() == owner
}
