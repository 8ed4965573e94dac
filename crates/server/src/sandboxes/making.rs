//! Making and finding sandboxes.

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

/// What holds for all sandboxes of a service.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServiceLimits {
    /// The most sandboxes at one time.
    pub sandboxes: Option<usize>,
    /// How long a sandbox lives at most, whatever was asked for.
    pub lifetime: Option<Duration>,
    /// After how long without a request processes of a sandbox end, if it does not say that itself.
    pub idle: Option<Duration>,
    /// Who commands are in containers, if that is not asked for.
    pub container_user: Option<User>,
    /// How many bytes the files of a container may take before it is destroyed.
    pub container_disk: Option<u64>,
}

/// All sandboxes.
pub struct Sandboxes {
    pub(crate) backends: Backends,
    pub(super) limits: ServiceLimits,
    pub(super) entries: Mutex<BTreeMap<String, Arc<Entry>>>,
    /// Snapshots outlive their sandboxes.
    snapshots: Mutex<BTreeMap<String, Arc<Kept>>>,
    pub(super) tenants: Arc<Tenants>,
    idempotency: Idempotency,
    next_snapshot: AtomicU64,
    /// Where sandboxes are written down that outlive this process.
    pub(super) records: Option<Records>,
    /// What happens.
    pub happenings: Arc<Happenings>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

impl Sandboxes {
    /// None yet.
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

    /// Makes a sandbox, or finds the one that was made before for the same key.
    pub async fn create_once(
        self: &Arc<Self>,
        caller: &Caller,
        key: Option<&str>,
        wanted: CreateSandbox,
        body: &[u8],
    ) -> Result<Arc<Entry>, ApiError> {
        let Some(key) = key else { return self.create(caller, wanted).await };
        let made = self.idempotency.place(caller.key.as_deref(), key, blake3::hash(body))?;
        let mut is_new = None;
        let id = made
            .sandbox
            .get_or_try_init(|| async {
                let entry = self.create(caller, wanted).await?;
                let id = entry.id.clone();
                is_new = Some(entry);
                Ok::<_, ApiError>(id)
            })
            .await?;
        is_new.map_or_else(|| self.find(caller, id), Ok)
    }

    /// Makes a sandbox. It is made to its end even if the caller does not wait for it, and then listed like others.
    pub async fn create(
        self: &Arc<Self>,
        caller: &Caller,
        wanted: CreateSandbox,
    ) -> Result<Arc<Entry>, ApiError> {
        wanted.check()?;
        let (this, caller) = (Arc::clone(self), caller.clone());
        let making = tokio::spawn(async move { this.make(&caller, &wanted).await });
        making.await.map_err(|error| ApiError::internal(format!("a sandbox could not be made: {error}")))?
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
        self.check_room()?;
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
            // A sandbox that the next process would not know must not be.
            entry.sandbox.destroy().await?;
            return Err(ApiError::internal(format!("a sandbox cannot be written down: {error}")));
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

    /// Writes down what has changed of a sandbox that outlives this process.
    pub(crate) fn write_down_changes(&self, entry: &Entry) -> Result<(), ApiError> {
        let Some(records) = &self.records else { return Ok(()) };
        records.change(&entry.id, entry.now()).map_err(|error| {
            ApiError::internal(format!("it was changed, and that cannot be written down: {error}"))
                .hint("the operator has to look at the disk of the server")
        })
    }

    pub(super) fn forget_record(&self, id: &str) {
        if let Some(records) = &self.records {
            records.forget(id);
        }
    }

    fn check_room(&self) -> Result<(), ApiError> {
        let there = lock(&self.entries).len();
        match self.limits.sandboxes {
            Some(most) if there >= most => Err(ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too_many_sandboxes",
                format!("there are {there} sandboxes, and {most} is the most"),
            )
            .hint("destroy some, or start the server with a higher limit")),
            _ => Ok(()),
        }
    }

    /// One that the caller may see.
    pub fn find(&self, caller: &Caller, id: &str) -> Result<Arc<Entry>, ApiError> {
        let found = lock(&self.entries).get(id).cloned();
        found.filter(|entry| is_of(caller, entry.owner.as_ref())).ok_or_else(|| ApiError::no_sandbox(id))
    }

    /// All that the caller may see, the oldest first.
    pub fn all(&self, caller: &Caller) -> Vec<Arc<Entry>> {
        let mut all: Vec<Arc<Entry>> = lock(&self.entries).values().cloned().collect();
        all.retain(|entry| is_of(caller, entry.owner.as_ref()));
        all.sort_by(|one, other| (one.created_ms, &one.id).cmp(&(other.created_ms, &other.id)));
        all
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        lock(&self.entries).len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Destroys one. It is not listed any more from the beginning of its end.
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

    /// Ends its processes; its files stay.
    pub async fn stop(&self, entry: &Arc<Entry>, why: &str) -> Result<(), ApiError> {
        // Commands are refused from now on, and those under way end.
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

    /// Makes it ready for commands.
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

    /// Lets its processes stand still.
    pub async fn pause(&self, entry: &Arc<Entry>) -> Result<(), ApiError> {
        if entry.now().status == Status::Stopped {
            return Err(ApiError::conflict(
                "sandbox_not_running",
                "a sandbox that is stopped has nothing to pause",
            ));
        }
        entry.sandbox.pause().await?;
        entry.change(|now| now.status = Status::Paused);
        self.tell("sandbox.paused", entry, None);
        Ok(())
    }

    /// Lets them go on.
    pub async fn resume(&self, entry: &Arc<Entry>) -> Result<(), ApiError> {
        if entry.now().status == Status::Stopped {
            return Err(ApiError::conflict("sandbox_not_running", "this sandbox is stopped, not paused")
                .hint("POST …/start makes it ready for commands"));
        }
        entry.sandbox.resume().await?;
        entry.change(|now| now.status = Status::Running);
        self.tell("sandbox.resumed", entry, None);
        Ok(())
    }

    /// Keeps a copy of its files.
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

    /// A snapshot that the caller may use.
    pub fn snapshot(&self, caller: &Caller, id: &str) -> Result<Arc<Kept>, ApiError> {
        let found = lock(&self.snapshots).get(id).cloned();
        found
            .filter(|kept| is_of(caller, kept.owner.as_ref()))
            .ok_or_else(|| ApiError::nothing("snapshot", id))
    }

    /// All snapshots that the caller may use.
    pub fn snapshots(&self, caller: &Caller) -> Vec<Arc<Kept>> {
        let mut all: Vec<Arc<Kept>> = lock(&self.snapshots).values().cloned().collect();
        all.retain(|kept| is_of(caller, kept.owner.as_ref()));
        all
    }

    /// Forgets a snapshot. Its files go with the last sandbox that was made of it.
    pub fn forget_snapshot(&self, caller: &Caller, id: &str) -> Result<(), ApiError> {
        self.snapshot(caller, id)?;
        lock(&self.snapshots).remove(id);
        for entry in lock(&self.entries).values() {
            entry.forget_snapshot(id);
        }
        Ok(())
    }

    /// Whether a backend can be used.
    pub async fn check(&self) -> Result<BackendName, ApiError> {
        self.backends.get(self.backends.usual).await?;
        Ok(self.backends.usual)
    }

    /// What the backend of a sandbox can do.
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

fn is_of(caller: &Caller, owner: Option<&String>) -> bool {
    caller.key.is_none() || caller.key.as_ref() == owner
}
