//! Caller's handle of one native sandbox.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use menace_model::faults::FaultCount;
use menace_model::network::{NetworkReport, NetworkSpec};
use menace_model::sandbox::{
    ExecOutcome, ExecRequest, FileChanges, FileEntry, FileOperation, LimitsChange, ResourceController,
    ResourceUsage, SandboxIsolation, SandboxLimits, SandboxSpec, SandboxStats,
};
use menace_netstack::Netstack;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite};

use super::backend::NativeBackendState;
use super::cgroup::ControlGroup;
use super::init::namespaces;
use super::init_channel::{InitChannel, JobAnswers};
use super::launch::{LaunchedSandbox, PendingLaunch, SandboxExtras, order};
use super::limits;
use super::network::{RequestedNetwork, check};
use super::process::NativeProcess;
use super::protocol::{InitInspection, InitReport, InitRequest};
use crate::faults::FaultInjector;
use crate::{Sandbox, SandboxConnection, SandboxError, SandboxFileWatch, SandboxProcess, SandboxSnapshot};

/// A native sandbox.
pub(super) struct NativeSandbox {
    pub(super) id: String,
    pub(super) spec: SandboxSpec,
    pub(super) shared: Arc<NativeBackendState>,
    pub(super) wire: Arc<InitChannel>,
    /// Cgroup that limits and accounts the processes, as far as the host permits.
    pub(super) group: Arc<Option<ControlGroup>>,
    pub(super) life: Arc<InitProcessHandle>,
    listening: tokio::task::JoinHandle<()>,
    controllers: BTreeMap<ResourceController, String>,
    left_out: Vec<String>,
    is_destroyed: AtomicBool,
    network: Option<Netstack>,
    /// Fault injector.
    pub(super) supervisor: Option<Arc<FaultInjector>>,
}

/// Init process of a sandbox; all other processes in it end with it.
pub(super) struct InitProcessHandle {
    id: String,
    first_process: AsyncFd<OwnedFd>,
    is_paused: AtomicBool,
}

impl InitProcessHandle {
    pub(super) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Acquire)
    }

    pub(super) fn kill(&self) {
        // The process may be dead already.
        if let Err(error) =
            rustix::process::pidfd_send_signal(&self.first_process, rustix::process::Signal::KILL)
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!("failed to kill sandbox {}: {error}", self.id);
        }
    }
}

impl NativeSandbox {
    /// Creates a sandbox and waits until it is ready.
    pub(super) async fn create(
        shared: &Arc<NativeBackendState>,
        spec: SandboxSpec,
    ) -> Result<Self, SandboxError> {
        Self::create_as(shared, spec, SandboxExtras::none()).await
    }

    /// Creates a sandbox with extras, such as the base sandbox of a zygote.
    pub(super) async fn create_as(
        shared: &Arc<NativeBackendState>,
        spec: SandboxSpec,
        extras: SandboxExtras,
    ) -> Result<Self, SandboxError> {
        Self::create_with(shared, spec, extras, None).await.map(|(sandbox, _)| sandbox)
    }

    /// Creates a sandbox for one command. Both are requested together, so that the command starts as early as possible.
    pub(super) async fn run(
        shared: &Arc<NativeBackendState>,
        spec: SandboxSpec,
        request: ExecRequest,
    ) -> Result<ExecOutcome, SandboxError> {
        let extras = SandboxExtras::none();
        let limit = spec.limits.output;
        let (sandbox, process) = Self::create_with(shared, spec, extras, Some(request.exclusive())).await?;
        let outcome = match process {
            Some(process) => process.collect(limit).await,
            None => Err(SandboxError::Protocol("the sandbox was created without its command".into())),
        };
        sandbox.destroy().await?;
        outcome
    }

    async fn create_with(
        shared: &Arc<NativeBackendState>,
        mut spec: SandboxSpec,
        extras: SandboxExtras,
        request: Option<ExecRequest>,
    ) -> Result<(Self, Option<NativeProcess>), SandboxError> {
        limits::check(&spec.limits)?;
        if let Some(image) = &spec.image {
            return Err(SandboxError::Refused {
                problem: format!("native sandboxes do not support images: {image}"),
                hint: "omit the image, or use the docker backend".into(),
            });
        }
        if spec.isolates_others {
            return Err(SandboxError::Refused {
                problem: "native sandboxes do not support nested isolation".into(),
                hint: "use the docker backend".into(),
            });
        }
        super::paths::make_absolute(&mut spec)?;
        let network = RequestedNetwork::from_policy(&spec.network)?;
        for (name, value) in network.iter().flat_map(RequestedNetwork::variables) {
            spec.environment.entry(name).or_insert(value);
        }
        let id = new_id();
        let kept = limits::assign(&spec.limits, &shared.hierarchies);
        let create_group = || {
            let needed =
                kept.needs_group().then(|| shared.groups.create(&id, &kept.by_cgroup, &kept.counted));
            needed.transpose()
        };
        // With cgroup v2, processes are cloned into their group, which has to exist first; otherwise the group is
        // created in parallel with the namespaces.
        let clones_into_group = shared.hierarchies.has_version_2();
        let early = if clones_into_group { create_group()? } else { None };
        let order = order(shared, &spec, &kept, &extras, early.as_ref(), network.as_ref());
        let mut launch = PendingLaunch::order(shared, &order, early.as_ref()).await?;
        let group = if clones_into_group { early } else { create_group()? };
        if order.joins_later {
            launch.join(group.as_ref()).await?;
        }
        let counts_cpu = group.as_ref().is_some_and(ControlGroup::counts_cpu);
        let command = match request {
            None => None,
            Some(request) => Some(launch.request_command(&spec, shared, request, counts_cpu).await?),
        };
        let LaunchedSandbox { socket, first_process, left_out: steps_left_out, mut handed_over, early } =
            launch.finish().await?;
        let network = match network {
            None => None,
            Some(planned) => Some(planned.start(handed_over.pop_front())?),
        };
        let supervisor = supervise(&spec, handed_over.pop_front(), &first_process)?.map(Arc::new);
        let (wire, listening, answers) = InitChannel::start(socket, early);
        let life = InitProcessHandle { id: id.clone(), first_process, is_paused: AtomicBool::new(false) };
        let sandbox = Self {
            id,
            spec,
            shared: Arc::clone(shared),
            wire,
            group: Arc::new(group),
            life: Arc::new(life),
            listening,
            controllers: kept.enforcing_controllers(shared.controllers()),
            left_out: kept.left_out.into_iter().chain(steps_left_out).collect(),
            is_destroyed: AtomicBool::new(false),
            network,
            supervisor,
        };
        let process = command.map(|command| NativeProcess::of_new_sandbox(&sandbox, command, answers));
        Ok((sandbox, process))
    }

    /// Returns [`SandboxError::Gone`] after the sandbox was destroyed.
    pub(super) fn check_alive(&self) -> Result<(), SandboxError> {
        if self.is_destroyed.load(Ordering::Acquire) { Err(self.gone()) } else { Ok(()) }
    }

    pub(super) fn gone(&self) -> SandboxError {
        SandboxError::Gone { id: self.id.clone() }
    }

    /// Sends a request to the init process; returns [`SandboxError::Gone`] when it has exited.
    pub(super) async fn send_request(
        &self,
        request: impl FnOnce(u64) -> InitRequest,
        descriptors: &[OwnedFd],
    ) -> Result<JobAnswers, SandboxError> {
        let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        self.wire.send_request(request, &borrowed).await.ok_or_else(|| self.gone())
    }

    async fn inspect(&self) -> Result<InitInspection, SandboxError> {
        let mut answers = self.send_request(|job| InitRequest::Inspect { job }, &[]).await?;
        match answers.next().await {
            Some(InitReport::Inspected { inspection, .. }) => Ok(inspection),
            _ => Err(self.gone()),
        }
    }

    async fn signal_all(&self, signal: i32) -> Result<(), SandboxError> {
        let mut answers = self.send_request(|job| InitRequest::SignalAll { job, signal }, &[]).await?;
        answers.next().await.map(drop).ok_or_else(|| self.gone())
    }
}

impl Drop for NativeSandbox {
    fn drop(&mut self) {
        self.listening.abort();
        self.wire.end();
        if !self.is_destroyed.load(Ordering::Acquire) {
            self.life.kill();
        }
    }
}

#[async_trait]
impl Sandbox for NativeSandbox {
    fn id(&self) -> &str {
        &self.id
    }

    async fn exec(&self, request: ExecRequest) -> Result<ExecOutcome, SandboxError> {
        NativeProcess::start(self, request).await?.collect(self.spec.limits.output).await
    }

    async fn spawn(&self, request: ExecRequest) -> Result<Box<dyn SandboxProcess>, SandboxError> {
        let mut process = NativeProcess::start(self, request).await?;
        process.wait_until_started().await?;
        Ok(Box::new(process))
    }

    async fn put(
        &self,
        directory: &Path,
        archive: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<(), SandboxError> {
        self.unpack(directory, archive).await
    }

    async fn get(
        &self,
        path: &Path,
        archive: &mut (dyn AsyncWrite + Send + Unpin),
    ) -> Result<(), SandboxError> {
        self.pack(path, archive).await
    }

    async fn stats(&self) -> Result<SandboxStats, SandboxError> {
        self.check_alive()?;
        // A frozen init process cannot answer; the kernel's counters are available all the same.
        let is_frozen = self.life.is_paused() && self.can_freeze() && self.group.is_some();
        let mut stats = if is_frozen { SandboxStats::default() } else { stats_of(&self.inspect().await?) };
        if let Some(group) = self.group.as_ref() {
            let counted = group.usage()?;
            stats.usage.cpu_user_ms = counted.cpu_user_ms.or(stats.usage.cpu_user_ms);
            stats.usage.cpu_system_ms = counted.cpu_system_ms.or(stats.usage.cpu_system_ms);
            stats.usage.peak_rss_bytes = counted.peak_rss_bytes.or(stats.usage.peak_rss_bytes);
            stats.memory_bytes = group.memory_now()?;
            // The init process does not belong to a command.
            stats.pids = stats.pids.or(group.pids_now()?.map(|count| count.saturating_sub(1)));
        }
        Ok(stats)
    }

    async fn changes(&self) -> Result<FileChanges, SandboxError> {
        self.list_changes().await
    }

    async fn isolation(&self) -> Result<SandboxIsolation, SandboxError> {
        let inspection = self.inspect().await?;
        let host = namespaces().map_err(SandboxError::io("read the namespaces of this process"))?;
        let differs = |kind: &str| {
            let of =
                |all: &[(String, u64)]| all.iter().find(|(name, _)| name == kind).map(|(_, inode)| *inode);
            matches!((of(&inspection.namespaces), of(&host)), (Some(inside), Some(outside)) if inside != outside)
        };
        Ok(SandboxIsolation {
            user_ns: differs("user"),
            mount_ns: differs("mnt"),
            pid_ns: differs("pid"),
            net_ns: differs("net"),
            ipc_ns: differs("ipc"),
            uts_ns: differs("uts"),
            cgroup_ns: differs("cgroup"),
            time_ns: differs("time"),
            no_capabilities: inspection.capabilities == 0,
            no_new_privs: inspection.no_new_privs,
            seccomp: inspection.seccomp_mode == 2,
            landlock_abi: inspection.landlock_abi,
            controllers: self.controllers.clone(),
            left_out: self.left_out.clone(),
        })
    }

    async fn network(&self) -> Result<NetworkReport, SandboxError> {
        match &self.network {
            None => Ok(NetworkReport::default()),
            Some(network) => network.report().map_err(SandboxError::io("read the network report")),
        }
    }

    async fn change_network(&self, spec: NetworkSpec) -> Result<(), SandboxError> {
        self.check_alive()?;
        check(&spec)?;
        let network = self.network.as_ref().ok_or_else(no_network)?;
        if spec.mocks.is_some() && !network.has_authority() {
            return Err(SandboxError::Refused {
                problem: "programs in this sandbox do not trust mocks".into(),
                hint: "create the sandbox with mocks; their rules may be empty at first".into(),
            });
        }
        if !network.suits_netem(&spec) {
            return Err(SandboxError::Refused {
                problem: "netem settings cannot be changed while the sandbox runs".into(),
                hint: "use menace's own shaper, or change only the inbound settings".into(),
            });
        }
        network.change(spec);
        Ok(())
    }

    async fn faults(&self) -> Result<Vec<FaultCount>, SandboxError> {
        match &self.supervisor {
            None => Ok(Vec::new()),
            Some(supervisor) => supervisor.report(),
        }
    }

    async fn files(&self, work: FileOperation) -> Result<Vec<FileEntry>, SandboxError> {
        self.file_work(work).await
    }

    async fn watch(&self, path: &Path) -> Result<Box<dyn SandboxFileWatch>, SandboxError> {
        Ok(Box::new(self.watch_files(path).await?))
    }

    async fn connect(&self, port: u16) -> Result<Box<dyn SandboxConnection>, SandboxError> {
        self.check_alive()?;
        let mut answers = self.send_request(|job| InitRequest::Connect { job, port }, &[]).await?;
        let refused = |source: std::io::Error| SandboxError::Port { port, source };
        match answers.next_with_descriptor().await {
            Some((InitReport::Connecting { .. }, Some(socket))) => {
                let stream = std::net::TcpStream::from(socket);
                let stream = tokio::net::TcpStream::from_std(stream).map_err(refused)?;
                stream.writable().await.map_err(refused)?;
                match stream.take_error().map_err(refused)? {
                    Some(error) => Err(refused(error)),
                    None => Ok(Box::new(stream)),
                }
            }
            Some((InitReport::NotStarted { errno, .. }, _)) => {
                Err(refused(std::io::Error::from_raw_os_error(errno)))
            }
            _ => Err(self.gone()),
        }
    }

    async fn change_limits(&self, change: LimitsChange) -> Result<(), SandboxError> {
        self.check_alive()?;
        let LimitsChange { memory, cpus, pids } = change;
        let disk = Some(self.spec.limits.effective_disk());
        limits::check(&SandboxLimits {
            memory: memory.or(self.spec.limits.memory),
            disk,
            cpus,
            pids,
            ..SandboxLimits::default()
        })?;
        let group = self.group.as_ref().as_ref().ok_or_else(|| SandboxError::Refused {
            problem: "no control group enforces the limits of this sandbox".into(),
            hint: "menace doctor shows what this host lacks".into(),
        })?;
        Ok(group.change(&SandboxLimits { memory, cpus, pids, ..SandboxLimits::default() })?)
    }

    async fn stop(&self) -> Result<(), SandboxError> {
        self.check_alive()?;
        self.resume().await?;
        self.signal_all(libc::SIGKILL).await
    }

    async fn start(&self) -> Result<(), SandboxError> {
        self.check_alive()
    }

    async fn pause(&self) -> Result<(), SandboxError> {
        self.check_alive()?;
        if self.life.is_paused.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let paused = match self.group.as_ref() {
            Some(group) if self.can_freeze() => group.freeze().map_err(SandboxError::from),
            _ => self.signal_all(libc::SIGSTOP).await,
        };
        if paused.is_err() {
            self.life.is_paused.store(false, Ordering::Release);
        }
        paused
    }

    async fn resume(&self) -> Result<(), SandboxError> {
        self.check_alive()?;
        if !self.life.is_paused.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        match self.group.as_ref() {
            Some(group) if self.can_freeze() => Ok(group.thaw()?),
            _ => self.signal_all(libc::SIGCONT).await,
        }
    }

    async fn snapshot(&self) -> Result<SandboxSnapshot, SandboxError> {
        self.take_snapshot().await
    }

    async fn destroy(&self) -> Result<(), SandboxError> {
        if self.is_destroyed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.life.kill();
        // A frozen process dies only when it is thawed.
        if self.life.is_paused()
            && let Some(group) = self.group.as_ref()
        {
            group.thaw()?;
        }
        // The init process is gone when all other processes of its namespace are.
        self.life
            .first_process
            .readable()
            .await
            .map_err(SandboxError::io("wait for the end of a sandbox"))?
            .retain_ready();
        self.wire.end();
        match self.group.as_ref() {
            None => Ok(()),
            Some(group) if group.remove().is_ok() => Ok(()),
            // A process survived the end of its namespace.
            Some(group) => {
                group.kill()?;
                Ok(group.remove()?)
            }
        }
    }
}

impl NativeSandbox {
    fn can_freeze(&self) -> bool {
        self.shared.hierarchies.controllers().contains_key(&ResourceController::Freezer)
    }
}

/// Starts the fault injector, if the spec has faults.
fn supervise(
    spec: &SandboxSpec,
    listener: Option<OwnedFd>,
    first_process: &AsyncFd<OwnedFd>,
) -> Result<Option<FaultInjector>, SandboxError> {
    if spec.faults.is_empty() {
        return Ok(None);
    }
    let listener = listener
        .ok_or_else(|| SandboxError::Protocol("the sandbox did not send its seccomp listener".into()))?;
    let ours = executable_of(first_process.get_ref()).unwrap_or_default();
    FaultInjector::start(listener, &spec.faults, spec.fault_seed, ours)
        .map(Some)
        .map_err(SandboxError::io("start the fault injector"))
}

/// Path of the executable of a process; `None` if it is not readable.
fn executable_of(process: &OwnedFd) -> Option<PathBuf> {
    let information = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", process.as_raw_fd())).ok()?;
    let number = information.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim();
    std::fs::read_link(format!("/proc/{number}/exe")).ok()
}

fn no_network() -> SandboxError {
    SandboxError::Refused {
        problem: "this sandbox has no network".into(),
        hint: "create the sandbox with a network; it may deny everything".into(),
    }
}

/// Converts the report of the init process into the caller's statistics.
fn stats_of(inspection: &InitInspection) -> SandboxStats {
    SandboxStats {
        usage: ResourceUsage {
            cpu_user_ms: Some(inspection.cpu_user_us as f64 / 1e3),
            cpu_system_ms: Some(inspection.cpu_system_us as f64 / 1e3),
            peak_rss_bytes: Some(inspection.largest_process_bytes),
            io_read_bytes: Some(inspection.io_read_bytes),
            io_write_bytes: Some(inspection.io_write_bytes),
            cpu_throttled_ms: None,
        },
        memory_bytes: None,
        pids: Some(inspection.processes),
        disk_bytes: Some(inspection.disk_bytes),
    }
}

/// Id that no other sandbox on this machine has: 64 random bits and a counter.
fn new_id() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    format!("sb-{:016x}{:04x}", random(), COUNTER.fetch_add(1, Ordering::Relaxed) & 0xffff)
}

pub(super) fn random() -> u64 {
    let mut bytes = [0; 8];
    // The kernel's random numbers do not block or fail after the machine has started.
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .expect("the kernel has random numbers");
    u64::from_le_bytes(bytes)
}
