//! All sandboxes of the service: creation, lookup and state changes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::StatusCode;
use menace_model::sandbox::User;
use menace_sandbox::Sandbox;

use super::backends::Backends;
use super::entry::{Entry, Kept, lock};
use super::happenings::Happenings;
use super::idempotency::Idempotency;
use super::records::{Record, Records};
use super::tenants::{Caller, Tenants};
use super::view::Status;
use super::wanted::{BackendName, CreateSandbox};
use crate::cleaning::Observer;
use crate::clock;
use crate::error::ApiError;
use crate::metrics::Metrics;

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
    pub container_user: Option<User>,
    /// Disk usage in bytes above which a container is destroyed.
    pub container_disk: Option<u64>,
}

/// All sandboxes of the service.
pub struct Sandboxes {
    pub(crate) backends: Backends,
    pub(super) limits: ServiceLimits,
    pub(super) entries: Mutex<BTreeMap<String, Arc<Entry>>>,
    /// Snapshots of all sandboxes; they outlive their sandboxes.
    snapshots: Mutex<BTreeMap<String, Arc<Kept>>>,
    pub(super) tenants: Arc<Tenants>,
    idempotency: Idempotency,
    next_snapshot: AtomicU64,
    /// Records of sandboxes that outlive this process.
    pub(super) records: Option<Records>,
    /// Events of all sandboxes.
    pub happenings: Arc<Happenings>,
    /// Prometheus metrics.
    pub metrics: Arc<Metrics>,
}

impl Sandboxes {
    /// Creates the service without sandboxes.
    pub fn new(backends: Backends, limits: ServiceLimits, records: Option<Records>) -> Self {
        let (happenings, metrics) = (Arc::<Happenings>::default(), Arc::<Metrics>::default());
        backends.observed_by(Arc::new(Observer {
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
            idempotency: Idempotency::default(),
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
        wanted: CreateSandbox,
        body: &[u8],
    ) -> Result<Arc<Entry>, ApiError> {
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
        wanted: CreateSandbox,
    ) -> Result<Arc<Entry>, ApiError> {
        wanted.check()?;
        let (this, caller) = (Arc::clone(self), caller.clone());
        let creation = tokio::spawn(async move { this.make(&caller, &wanted).await });
        creation.await.map_err(|error| ApiError::internal(format!("failed to create a sandbox: {error}")))?
    }

    async fn make(&self, caller: &Caller, wanted: &CreateSandbox) -> Result<Arc<Entry>, ApiError> {
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
        let entry = Arc::new(Entry::new(sandbox, spec, wanted, name, caller, reservation));
        if let Some(lifetime) = self.limits.lifetime {
            let most = entry.created_ms + i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
            entry.change(|now| now.expires_ms = Some(now.expires_ms.map_or(most, |asked| asked.min(most))));
        }
        if entry.now().idle.is_none() {
            entry.change(|now| now.idle = self.limits.idle);
        }
        if backend.capabilities().outlives
            && let Err(error) = self.write_down(&entry, wanted)
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

    fn write_down(&self, entry: &Entry, wanted: &CreateSandbox) -> std::io::Result<()> {
        let Some(records) = &self.records else { return Ok(()) };
        records.write(&Record {
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
    pub(crate) fn write_down_changes(&self, entry: &Entry) -> Result<(), ApiError> {
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
    pub fn find(&self, caller: &Caller, id: &str) -> Result<Arc<Entry>, ApiError> {
        let found = lock(&self.entries).get(id).cloned();
        found.filter(|entry| may_access(caller, entry.owner.as_ref())).ok_or_else(|| ApiError::no_sandbox(id))
    }

    /// All sandboxes that the caller may access, oldest first.
    pub fn all(&self, caller: &Caller) -> Vec<Arc<Entry>> {
        let mut all: Vec<Arc<Entry>> = lock(&self.entries).values().cloned().collect();
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
    pub async fn destroy(&self, entry: &Arc<Entry>, why: &str) -> Result<(), ApiError> {
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
    pub async fn stop(&self, entry: &Arc<Entry>, why: &str) -> Result<(), ApiError> {
        // From now on new commands are rejected; running ones end.
        let before = entry.change(|now| std::mem::replace(&mut now.status, Status::Stopped));
        if before == Status::Stopped {
            return Ok(());
        }
        if let Err(error) = entry.sandbox.stop().await {
            entry.change(|now| now.status = before);
            return Err(error.into());
        }
        self.tell("sandbox.stopped", entry, Some(why.to_owned()));
        self.write_down_changes(entry)
    }

    /// Starts a stopped sandbox, or resumes a paused one.
    pub async fn start(&self, entry: &Arc<Entry>) -> Result<(), ApiError> {
        match entry.now().status {
            Status::Running => Ok(()),
            Status::Paused => self.resume(entry).await,
            Status::Stopped => {
                entry.sandbox.start().await?;
                entry.change(|now| now.status = Status::Running);
                drop(entry.used());
                self.tell("sandbox.started", entry, None);
                self.write_down_changes(entry)
            }
        }
    }

    /// Pauses a sandbox.
    pub async fn pause(&self, entry: &Arc<Entry>) -> Result<(), ApiError> {
        if entry.now().status == Status::Stopped {
            return Err(ApiError::conflict("sandbox_not_running", "sandbox is stopped, not running"));
        }
        entry.sandbox.pause().await?;
        entry.change(|now| now.status = Status::Paused);
        self.tell("sandbox.paused", entry, None);
        Ok(())
    }

    /// Resumes a paused sandbox.
    pub async fn resume(&self, entry: &Arc<Entry>) -> Result<(), ApiError> {
        if entry.now().status == Status::Stopped {
            return Err(ApiError::conflict("sandbox_not_running", "sandbox is stopped, not paused")
                .hint("start it with POST …/start"));
        }
        entry.sandbox.resume().await?;
        entry.change(|now| now.status = Status::Running);
        self.tell("sandbox.resumed", entry, None);
        Ok(())
    }

    /// Takes a snapshot of the files of a sandbox.
    pub async fn take_snapshot(&self, entry: &Arc<Entry>, name: String) -> Result<Arc<Kept>, ApiError> {
        let _used = entry.used();
        let files = entry.sandbox.snapshot().await?;
        let number = self.next_snapshot.fetch_add(1, Ordering::Relaxed);
        let kept = Arc::new(Kept {
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
    pub fn snapshot(&self, caller: &Caller, id: &str) -> Result<Arc<Kept>, ApiError> {
        let found = lock(&self.snapshots).get(id).cloned();
        found
            .filter(|kept| may_access(caller, kept.owner.as_ref()))
            .ok_or_else(|| ApiError::nothing("snapshot", id))
    }

    /// All snapshots that the caller may access.
    pub fn snapshots(&self, caller: &Caller) -> Vec<Arc<Kept>> {
        let mut all: Vec<Arc<Kept>> = lock(&self.snapshots).values().cloned().collect();
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
    ) -> Result<menace_model::sandbox::Capabilities, ApiError> {
        Ok(self.backends.get(name.unwrap_or(self.backends.usual)).await?.capabilities())
    }

    pub(super) fn tell(&self, event: &str, entry: &Entry, detail: Option<String>) {
        self.happenings.tell(event, &entry.id, entry.owner.as_deref(), detail);
    }
}

fn may_access(caller: &Caller, owner: Option<&String>) -> bool {
    caller.key.is_none() || caller.key.as_ref() == owner
}
