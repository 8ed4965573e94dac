//! One sandbox of the service: its metadata, processes, samples and snapshots.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use menace_model::sandbox::{ExecOutcome, ExecRequest, SandboxSpec, SandboxStats, WORKSPACE};
use menace_sandbox::{Sandbox, SandboxSnapshot};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::background_process::BackgroundProcess;
use super::requests::{BackendName, CreateSandboxRequest};
use super::tenants::{Caller, QuotaReservation};
use super::transcript::TranscriptRetention;
use super::views::{SandboxResourceLimits, SandboxStatus, SandboxView};
use crate::clock;
use crate::error::ApiError;

/// Maximum number of ended processes that are kept, and for how long.
const MAX_ENDED: usize = 64;
const ENDED_KEPT_MS: i64 = 600_000;
/// Number of resource samples kept for plots.
const MAX_SAMPLES: usize = 360;

/// A sandbox with its metadata, processes, samples and snapshots.
pub struct SandboxEntry {
    /// Id of the sandbox.
    pub id: String,
    /// Id of the API key that owns it.
    pub owner: Option<String>,
    /// Backend that created it.
    pub backend: BackendName,
    /// Creation time, in milliseconds since 1970.
    pub created_ms: i64,
    /// Handle of the backend.
    pub sandbox: Arc<dyn Sandbox>,
    /// Specification it was created from.
    pub spec: SandboxSpec,
    /// Mutable settings.
    changing: Mutex<MutableSandboxState>,
    processes: Mutex<BTreeMap<String, Arc<BackgroundProcess>>>,
    next_process: AtomicU64,
    used_ms: AtomicI64,
    under_way: AtomicU64,
    samples: Mutex<VecDeque<SandboxUsageSample>>,
    snapshots: Mutex<BTreeMap<String, Arc<StoredSnapshot>>>,
    pub(super) reservation: QuotaReservation,
}

/// Mutable settings and status of a sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MutableSandboxState {
    /// Name chosen by the owner.
    pub project_name: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Status.
    pub status: SandboxStatus,
    /// Expiry time, in milliseconds since 1970.
    pub expires_ms: Option<i64>,
    /// Time without requests until it is stopped.
    pub idle: Option<Duration>,
    /// Default timeout of commands.
    pub timeout: Option<Duration>,
    /// Ports to list.
    pub ports: Vec<u16>,
    /// Current limits.
    pub limits: menace_model::sandbox::SandboxLimits,
}

/// A snapshot of a sandbox.
pub struct StoredSnapshot {
    /// Id of the snapshot.
    pub id: String,
    /// Name chosen by the owner.
    pub name: String,
    /// Creation time, in milliseconds since 1970.
    pub created_ms: i64,
    /// Id of the sandbox it was taken from.
    pub sandbox: String,
    /// Id of the API key that owns it.
    pub owner: Option<String>,
    /// Backend that created it.
    pub backend: BackendName,
    /// Files and specification.
    pub files: SandboxSnapshot,
}

/// Resource usage of a sandbox at one point in time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SandboxUsageSample {
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// CPU time since creation, in milliseconds.
    pub cpu_ms: Option<f64>,
    /// Memory in use.
    pub memory_bytes: Option<u64>,
    /// Disk space in use.
    pub disk_bytes: Option<u64>,
    /// Number of processes and threads.
    pub pids: Option<u64>,
    /// Bytes read from devices since creation.
    pub io_read_bytes: Option<u64>,
    /// Bytes written to devices since creation.
    pub io_write_bytes: Option<u64>,
}

impl SandboxUsageSample {
    pub(crate) fn of(stats: &SandboxStats) -> Self {
        let usage = &stats.usage;
        let cpu_ms = usage.cpu_user_ms.zip(usage.cpu_system_ms).map(|(user, system)| user + system);
        Self {
            at_ms: clock::now_ms(),
            cpu_ms,
            memory_bytes: stats.memory_bytes,
            disk_bytes: stats.disk_bytes,
            pids: stats.pids,
            io_read_bytes: usage.io_read_bytes,
            io_write_bytes: usage.io_write_bytes,
        }
    }
}

/// Guard of a request in progress; the sandbox is not idle while it exists.
pub struct ActivityGuard<'a>(&'a SandboxEntry);

impl Drop for ActivityGuard<'_> {
    fn drop(&mut self) {
        self.0.used_ms.store(clock::now_ms(), Ordering::Relaxed);
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

impl SandboxEntry {
    pub(super) fn new(
        sandbox: Arc<dyn Sandbox>,
        spec: SandboxSpec,
        wanted: &CreateSandboxRequest,
        backend: BackendName,
        caller: &Caller,
        reservation: QuotaReservation,
    ) -> Self {
        let now = clock::now_ms();
        let changing = MutableSandboxState {
            project_name: wanted.project_name.clone(),
            labels: wanted.labels.clone(),
            status: SandboxStatus::Running,
            expires_ms: wanted.ttl.map(|ttl| now.saturating_add(milliseconds(ttl.0))),
            idle: wanted.idle_timeout.map(|idle| idle.0),
            timeout: wanted.timeout.map(|timeout| timeout.0),
            ports: wanted.ports.clone(),
            limits: spec.limits.clone(),
        };
        Self {
            id: sandbox.id().to_owned(),
            owner: caller.key.clone(),
            backend,
            created_ms: now,
            sandbox,
            spec,
            changing: Mutex::new(changing),
            processes: Mutex::default(),
            next_process: AtomicU64::new(1),
            used_ms: AtomicI64::new(now),
            under_way: AtomicU64::new(0),
            samples: Mutex::default(),
            snapshots: Mutex::default(),
            reservation,
        }
    }

    /// Sets the creation time of an adopted sandbox, and its expiry from its time to live.
    pub(super) fn with_creation_time(mut self, created_ms: i64, ttl: Option<Duration>) -> Self {
        self.created_ms = created_ms;
        self.change(|now| now.expires_ms = ttl.map(|ttl| created_ms.saturating_add(milliseconds(ttl))));
        self
    }

    /// Current settings and status.
    pub fn now(&self) -> MutableSandboxState {
        lock(&self.changing).clone()
    }

    /// Changes the settings or the status.
    pub fn change<T>(&self, change: impl FnOnce(&mut MutableSandboxState) -> T) -> T {
        change(&mut lock(&self.changing))
    }

    /// Marks the sandbox as in use until the returned guard is dropped.
    pub fn used(&self) -> ActivityGuard<'_> {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        ActivityGuard(self)
    }

    /// Milliseconds since the last request; `None` while a request or a process is running.
    pub fn idle_ms(&self, now: i64) -> Option<i64> {
        let is_busy = self.under_way.load(Ordering::Acquire) > 0
            || lock(&self.processes).values().any(|process| process.state().ended_ms().is_none());
        (!is_busy).then(|| now - self.used_ms.load(Ordering::Relaxed))
    }

    /// Fails unless the sandbox is running.
    pub fn check_running(&self) -> Result<(), ApiError> {
        match self.now().status {
            SandboxStatus::Running => Ok(()),
            status => Err(ApiError::conflict(
                "sandbox_not_running",
                format!("sandbox {} is {}", self.id, status.name()),
            )
            .hint(match status {
                SandboxStatus::Paused => "resume it with POST …/resume",
                SandboxStatus::Stopped | SandboxStatus::Running => "start it with POST …/start",
            })),
        }
    }

    /// Fails if the sandbox is paused: a frozen process cannot answer.
    pub fn check_not_paused(&self) -> Result<(), ApiError> {
        if self.now().status == SandboxStatus::Paused {
            return Err(ApiError::conflict("sandbox_paused", format!("sandbox {} is paused", self.id))
                .hint("resume it with POST …/resume"));
        }
        Ok(())
    }

    /// Applies changed limits to the quota of the owner.
    pub fn reserve(
        &self,
        caller: &Caller,
        limits: &menace_model::sandbox::SandboxLimits,
    ) -> Result<(), ApiError> {
        self.reservation.change(caller, limits)
    }

    /// Representation in API responses.
    pub fn view(&self) -> SandboxView {
        let MutableSandboxState { project_name, labels, status, expires_ms, ports, limits, .. } = self.now();
        let cpus = limits.cpus.unwrap_or(0.0);
        SandboxView {
            sandbox_id: self.id.clone(),
            container_id: self.sandbox.id().to_owned(),
            project_name,
            status,
            created_at: clock::format_time(self.created_ms),
            workspace_path: WORKSPACE.to_owned(),
            ports: ports
                .iter()
                .map(|port| (port.to_string(), format!("/api/sandboxes/{}/ports/{port}/", self.id)))
                .collect(),
            resource_limits: SandboxResourceLimits {
                memory_limit: size(limits.effective_memory()),
                cpu_limit: format!("{cpus:?}"),
                memory_bytes: limits.effective_memory(),
                cpus,
                disk_bytes: limits.effective_disk(),
                pids: limits.effective_pids(),
            },
            backend: self.backend.name().to_owned(),
            image: self.spec.image.clone(),
            labels,
            expires_at: expires_ms.map(clock::format_time),
            last_used_at: clock::format_time(self.used_ms.load(Ordering::Relaxed)),
            owner: self.owner.clone(),
        }
    }

    /// Runs a command and waits for its end.
    pub async fn execute(&self, request: ExecRequest) -> Result<ExecOutcome, ApiError> {
        self.check_running()?;
        let _used = self.used();
        Ok(self.sandbox.exec(request).await?)
    }

    /// Starts a background process.
    pub async fn start(
        &self,
        request: ExecRequest,
        keeping: TranscriptRetention,
    ) -> Result<Arc<BackgroundProcess>, ApiError> {
        self.check_running()?;
        let _used = self.used();
        self.forget_ended();
        let command = request.command.clone();
        let process = self.sandbox.spawn(request).await?;
        let number = self.next_process.fetch_add(1, Ordering::Relaxed);
        let running = BackgroundProcess::track(format!("p{number}"), command, process, keeping).await;
        lock(&self.processes).insert(running.id.clone(), Arc::clone(&running));
        Ok(running)
    }

    /// A background process that is running or has ended recently.
    pub fn process(&self, id: &str) -> Result<Arc<BackgroundProcess>, ApiError> {
        lock(&self.processes).get(id).cloned().ok_or_else(|| ApiError::nothing("process", id))
    }

    /// All background processes, oldest first.
    pub fn processes(&self) -> Vec<Arc<BackgroundProcess>> {
        let mut all: Vec<Arc<BackgroundProcess>> = lock(&self.processes).values().cloned().collect();
        all.sort_by_key(|process| process.started_ms);
        all
    }

    /// Removes a process, which kills it if it is still running.
    pub fn forget(&self, id: &str) {
        lock(&self.processes).remove(id);
    }

    /// Removes ended processes that are too old or too many.
    pub(super) fn forget_ended(&self) {
        let oldest = clock::now_ms() - ENDED_KEPT_MS;
        let mut processes = lock(&self.processes);
        processes.retain(|_, process| process.state().ended_ms().is_none_or(|ended| ended > oldest));
        let mut ended: Vec<(i64, String)> = processes
            .values()
            .filter_map(|process| Some((process.state().ended_ms()?, process.id.clone())))
            .collect();
        ended.sort();
        let too_many = ended.len().saturating_sub(MAX_ENDED);
        for (_, id) in ended.drain(..too_many) {
            processes.remove(&id);
        }
    }

    /// Measures the current resource usage and keeps it for plots.
    pub async fn sample(&self) -> Result<SandboxUsageSample, ApiError> {
        let sample = SandboxUsageSample::of(&self.sandbox.stats().await?);
        let mut samples = lock(&self.samples);
        samples.push_back(sample);
        while samples.len() > MAX_SAMPLES {
            samples.pop_front();
        }
        Ok(sample)
    }

    /// Recent resource usage.
    pub fn samples(&self) -> Vec<SandboxUsageSample> {
        lock(&self.samples).iter().copied().collect()
    }

    /// Snapshots of this sandbox.
    pub fn snapshots(&self) -> Vec<Arc<StoredSnapshot>> {
        lock(&self.snapshots).values().cloned().collect()
    }

    pub(super) fn forget_snapshot(&self, id: &str) {
        lock(&self.snapshots).remove(id);
    }

    pub(super) fn keep_snapshot(&self, kept: Arc<StoredSnapshot>) {
        lock(&self.snapshots).insert(kept.id.clone(), kept);
    }
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Formats bytes as in requests: `1g`, `512m`, or a plain number.
fn size(bytes: u64) -> String {
    [(30, "g"), (20, "m"), (10, "k")]
        .into_iter()
        .find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1_u64 << shift))
        .map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data behind these locks is consistent after every statement, so a panic cannot leave it broken.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_formatted_as_in_requests() {
        for (bytes, text) in [(1 << 30, "1g"), (512 << 20, "512m"), (1536 << 20, "1536m"), (1000, "1000")] {
            assert_eq!(super::size(bytes), text);
        }
    }
}
