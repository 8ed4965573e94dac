//! One native sandbox, as its caller holds it.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use menace_enter::root::{Entry, Lower, ScratchOptions};
use menace_model::sandbox::{
    ExecOutcome, ExecRequest, FileChanges, Isolation, SandboxSpec, Stats, Usage, User, Workspace,
};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite};

use super::backend::Shared;
use super::cgroup::Group;
use super::channel;
use super::handle::unsupported;
use super::host_view::{Host, host_view, toolchain_of};
use super::init::namespaces;
use super::limits;
use super::pipes::Kept;
use super::process::NativeProcess;
use super::protocol::{Inspection, Joining, Kind, Order, Report, Request};
use super::wire::{Answers, Socket, Wire};
use crate::{Event, Process, Sandbox, SandboxError, Snapshot};

/// What a sandbox is called as a machine.
pub(super) const HOST_NAME: &str = "sandbox";

/// What a sandbox is for, and what it has beside the usual.
pub(super) struct Extras {
    pub(super) kind: Kind,
    /// A program outside of `PATH` whose installation has to be visible.
    pub(super) interpreter: Option<PathBuf>,
    pub(super) entries: Vec<Entry>,
}

/// A native sandbox.
pub(super) struct NativeSandbox {
    pub(super) id: String,
    pub(super) spec: SandboxSpec,
    pub(super) shared: Arc<Shared>,
    pub(super) wire: Arc<Wire>,
    /// Where processes are limited and counted, as far as the host lets us.
    pub(super) group: Arc<Option<Group>>,
    pub(super) life: Arc<Life>,
    listening: tokio::task::JoinHandle<()>,
    left_out: Vec<String>,
    is_destroyed: AtomicBool,
}

/// The first process of a sandbox, with which everything else in it ends.
pub(super) struct Life {
    id: String,
    first_process: AsyncFd<OwnedFd>,
    is_paused: AtomicBool,
}

impl Life {
    pub(super) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Acquire)
    }

    pub(super) fn kill(&self) {
        // It may be dead already.
        if let Err(error) =
            rustix::process::pidfd_send_signal(&self.first_process, rustix::process::Signal::KILL)
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!("failed to kill sandbox {}: {error}", self.id);
        }
    }
}

impl NativeSandbox {
    /// Makes a sandbox and waits until it is ready.
    pub(super) async fn create(shared: &Arc<Shared>, spec: SandboxSpec) -> Result<Self, SandboxError> {
        Self::create_as(shared, spec, Extras { kind: Kind::Final, interpreter: None, entries: Vec::new() })
            .await
    }

    /// Makes a sandbox, or what a zygote needs around it.
    pub(super) async fn create_as(
        shared: &Arc<Shared>,
        mut spec: SandboxSpec,
        extras: Extras,
    ) -> Result<Self, SandboxError> {
        limits::check(&spec.limits)?;
        super::paths::make_absolute(&mut spec)?;
        let id = new_id();
        let kept = limits::keep(&spec.limits, &shared.hierarchies);
        let make_group = || {
            let needed =
                kept.needs_group().then(|| shared.groups.create(&id, &kept.by_cgroup, &kept.counted));
            needed.transpose()
        };
        // Where processes are born into their group, it has to be there first; otherwise both are made at the same time.
        let is_born_into = shared.hierarchies.has_version_2();
        let early = if is_born_into { make_group()? } else { None };
        let order = order(shared, &spec, &kept, &extras, early.as_ref());
        let mut launch = Launch::order(shared, &order, early.as_ref()).await?;
        let group = if is_born_into { early } else { make_group()? };
        if order.joins_later {
            launch.join(group.as_ref()).await?;
        }
        let (socket, first_process, steps_left_out) = launch.finish().await?;
        let (wire, listening) = Wire::start(socket);
        let life = Life { id: id.clone(), first_process, is_paused: AtomicBool::new(false) };
        Ok(Self {
            id,
            spec,
            shared: Arc::clone(shared),
            wire,
            group: Arc::new(group),
            life: Arc::new(life),
            listening,
            left_out: kept.left_out.into_iter().chain(steps_left_out).collect(),
            is_destroyed: AtomicBool::new(false),
        })
    }

    /// Answers [`SandboxError::Gone`] after the end.
    pub(super) fn check_alive(&self) -> Result<(), SandboxError> {
        if self.is_destroyed.load(Ordering::Acquire) { Err(self.gone()) } else { Ok(()) }
    }

    pub(super) fn gone(&self) -> SandboxError {
        SandboxError::Gone { id: self.id.clone() }
    }

    /// Asks the first process; answers [`SandboxError::Gone`] when there is none any more.
    pub(super) async fn ask(
        &self,
        request: impl FnOnce(u64) -> Request,
        descriptors: &[OwnedFd],
    ) -> Result<Answers, SandboxError> {
        let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        self.wire.ask(request, &borrowed).await.ok_or_else(|| self.gone())
    }

    async fn inspect(&self) -> Result<Inspection, SandboxError> {
        let mut answers = self.ask(|job| Request::Inspect { job }, &[]).await?;
        match answers.next().await {
            Some(Report::Inspected { inspection, .. }) => Ok(inspection),
            _ => Err(self.gone()),
        }
    }

    async fn signal_all(&self, signal: i32) -> Result<(), SandboxError> {
        let mut answers = self.ask(|job| Request::SignalAll { job, signal }, &[]).await?;
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
        let mut process = NativeProcess::start(self, request).await?;
        process.end_stdin();
        let (mut stdout, mut stderr) =
            (Kept::new(self.spec.limits.output), Kept::new(self.spec.limits.output));
        loop {
            match process.next().await? {
                Event::Stdout(bytes) => stdout.add(&bytes),
                Event::Stderr(bytes) => stderr.add(&bytes),
                Event::Exited(mut outcome) => {
                    outcome.truncated = stdout.is_truncated || stderr.is_truncated;
                    outcome.stdout = stdout.text();
                    outcome.stderr = stderr.text();
                    return Ok(*outcome);
                }
            }
        }
    }

    async fn spawn(&self, request: ExecRequest) -> Result<Box<dyn Process>, SandboxError> {
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

    async fn stats(&self) -> Result<Stats, SandboxError> {
        self.check_alive()?;
        // In a frozen sandbox nobody answers; what the kernel counts is there all the same.
        let is_frozen = self.life.is_paused() && self.can_freeze() && self.group.is_some();
        let mut stats = if is_frozen { Stats::default() } else { stats_of(&self.inspect().await?) };
        if let Some(group) = self.group.as_ref() {
            let counted = group.usage()?;
            stats.usage.cpu_user_ms = counted.cpu_user_ms.or(stats.usage.cpu_user_ms);
            stats.usage.cpu_system_ms = counted.cpu_system_ms.or(stats.usage.cpu_system_ms);
            stats.usage.peak_rss_bytes = counted.peak_rss_bytes.or(stats.usage.peak_rss_bytes);
            stats.memory_bytes = group.memory_now()?;
            // The first process is no process of a command.
            stats.pids = stats.pids.or(group.pids_now()?.map(|count| count.saturating_sub(1)));
        }
        Ok(stats)
    }

    async fn changes(&self) -> Result<FileChanges, SandboxError> {
        self.list_changes().await
    }

    async fn isolation(&self) -> Result<Isolation, SandboxError> {
        let inspection = self.inspect().await?;
        let host = namespaces().map_err(SandboxError::io("look at the namespaces of this process"))?;
        let differs = |kind: &str| {
            let of =
                |all: &[(String, u64)]| all.iter().find(|(name, _)| name == kind).map(|(_, inode)| *inode);
            matches!((of(&inspection.namespaces), of(&host)), (Some(inside), Some(outside)) if inside != outside)
        };
        Ok(Isolation {
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
            controllers: self.shared.controllers(),
            left_out: self.left_out.clone(),
        })
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

    async fn snapshot(&self) -> Result<Snapshot, SandboxError> {
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
        // The first process is gone when all others of its namespace are.
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
            // Something survived the end of its namespace.
            Some(group) => {
                group.kill()?;
                Ok(group.remove()?)
            }
        }
    }
}

impl NativeSandbox {
    fn can_freeze(&self) -> bool {
        self.shared.hierarchies.controllers().contains_key(&menace_model::sandbox::Controller::Freezer)
    }
}

/// What the first process says, in the words of the caller.
fn stats_of(inspection: &Inspection) -> Stats {
    Stats {
        usage: Usage {
            cpu_user_ms: Some(inspection.cpu_user_us as f64 / 1e3),
            cpu_system_ms: Some(inspection.cpu_system_us as f64 / 1e3),
            peak_rss_bytes: Some(inspection.largest_process_bytes),
            io_read_bytes: Some(inspection.io_read_bytes),
            io_write_bytes: Some(inspection.io_write_bytes),
        },
        memory_bytes: None,
        pids: Some(inspection.processes),
        disk_bytes: Some(inspection.disk_bytes),
    }
}

/// A name that no other sandbox of this machine has: 64 random bits and a counter.
fn new_id() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    format!("sb-{:016x}{:04x}", random(), COUNTER.fetch_add(1, Ordering::Relaxed) & 0xffff)
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    // The kernel's random numbers do not block or fail after the machine has started.
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .expect("the kernel has random numbers");
    u64::from_le_bytes(bytes)
}

/// Users of the host that nobody has: each sandbox of root's is one of them, chosen at random.
const UNPRIVILEGED_RANGE: std::ops::Range<u32> = 0x6000_0000..0x7000_0000;

fn order(
    shared: &Shared,
    spec: &SandboxSpec,
    kept: &limits::Kept,
    extras: &Extras,
    group: Option<&Group>,
) -> Order {
    let owner = if shared.privileged {
        let range = UNPRIVILEGED_RANGE.end - UNPRIVILEGED_RANGE.start;
        let offset = u32::try_from(random() % u64::from(range)).expect("it is below a 32 bit number");
        (UNPRIVILEGED_RANGE.start + offset, UNPRIVILEGED_RANGE.start + offset)
    } else {
        (0, 0)
    };
    let workspace = match &spec.workspace {
        Workspace::Empty => Lower::Empty,
        // Each call of a zygote has a layer of its own.
        Workspace::CopyOnWrite(directory) if extras.kind == Kind::Base => Lower::ReadOnly(directory.clone()),
        Workspace::CopyOnWrite(directory) => Lower::CopyOnWrite(directory.clone()),
        Workspace::ReadWrite(directory) => Lower::ReadWrite(directory.clone()),
    };
    Order {
        scratch: ScratchOptions {
            size: spec.limits.effective_disk(),
            owner,
            workspace,
            privileged: shared.privileged,
        },
        mounts: spec.mounts.clone(),
        own_skeleton: own_skeleton(spec, extras),
        host_name: HOST_NAME.into(),
        user: spec.user,
        // The first process counts too, and so do the leaders of programs.
        processes: Some(spec.limits.effective_pids() + 1),
        open_files: spec.limits.open_files,
        data_bytes: kept.data_bytes,
        born_in_cgroup: group.is_some_and(|group| group.clone_into().is_some()),
        joins_later: !shared.hierarchies.has_version_2(),
        kind: extras.kind,
    }
}

/// Mounts of the user need places, which the common skeleton does not have.
fn own_skeleton(spec: &SandboxSpec, extras: &Extras) -> Option<Vec<Entry>> {
    if spec.mounts.is_empty() && extras.entries.is_empty() && spec.user == User::default() {
        return None;
    }
    let host = Host::of_this_process(spec.user, HOST_NAME.into());
    let mut view = host_view(&host);
    if let Some(interpreter) = &extras.interpreter {
        let installation = toolchain_of(interpreter, &host, &view);
        view.entries.extend(installation);
    }
    view.entries.extend(spec.mounts.iter().map(|mount| place_for(&mount.source, &mount.target)));
    view.entries.extend(extras.entries.iter().cloned());
    Some(view.entries)
}

fn place_for(source: &Path, target: &Path) -> Entry {
    if source.is_dir() {
        Entry::Directory { target: target.to_owned() }
    } else {
        Entry::File { target: target.to_owned(), content: String::new() }
    }
}

/// A sandbox that was ordered and is not ready yet. Dropping it ends it.
struct Launch {
    socket: Socket,
}

impl Launch {
    /// Orders a sandbox.
    async fn order(shared: &Shared, order: &Order, group: Option<&Group>) -> Result<Self, SandboxError> {
        let (ours, theirs) = channel::pair().map_err(SandboxError::io("open a channel to a sandbox"))?;
        let joined = group.map_or(Ok(Vec::new()), Group::join_descriptors)?;
        let mut descriptors = vec![theirs.as_fd()];
        descriptors.extend(group.and_then(Group::clone_into));
        descriptors.extend(joined.iter().map(AsFd::as_fd));
        let socket = Socket::new(ours).map_err(SandboxError::io("watch a sandbox"))?;
        shared
            .launcher
            .order(order, &descriptors)
            .await
            .map_err(SandboxError::io("send an order to the launcher"))?;
        Ok(Self { socket })
    }

    /// Sends the cgroups to join.
    async fn join(&mut self, group: Option<&Group>) -> Result<(), SandboxError> {
        let joined = group.map_or(Ok(Vec::new()), Group::join_descriptors)?;
        let descriptors: Vec<_> = joined.iter().map(AsFd::as_fd).collect();
        match self.socket.send(&Joining, &descriptors).await {
            // It failed before it wanted them, and says why.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(SandboxError::io("send cgroups to a sandbox")),
        }
    }

    /// Waits until the first process is inside.
    async fn finish(self) -> Result<(Socket, AsyncFd<OwnedFd>, Vec<String>), SandboxError> {
        // The launcher and the first process both write to the channel, and either can be first.
        let (mut first_process, mut ready) = (None, None);
        while first_process.is_none() || ready.is_none() {
            match self.socket.receive().await.map_err(SandboxError::io("hear from a sandbox"))? {
                Some((Report::Born, mut handles)) => first_process = handles.pop(),
                Some((Report::Ready { left_out }, _)) => ready = Some(left_out),
                Some((Report::Failed(error), _)) => return Err(unsupported(&error)),
                Some((report, _)) => {
                    return Err(SandboxError::Protocol(format!("a new sandbox said {report:?}")));
                }
                None => return Err(SandboxError::Protocol("a sandbox ended before it was ready".into())),
            }
        }
        let (handle, left_out) = first_process.zip(ready).expect("the loop ends when both are there");
        // SAFETY: an `OwnedFd` always returns the same descriptor and keeps it open until it is dropped.
        let handle = unsafe { AsyncFd::register_with_interest(handle, tokio::io::Interest::READABLE) }
            .map_err(|error| SandboxError::io("watch the first process of a sandbox")(error.into()))?;
        Ok((self.socket, handle, left_out))
    }
}
