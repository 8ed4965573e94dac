//! Launch of a sandbox: the order to the launcher, the messages after it, and the wait until the sandbox is ready.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use menace_isolation::root::{ScratchOptions, SkeletonEntry, WorkspaceBacking};
use menace_model::sandbox::{ExecRequest, SandboxSpec, SandboxUser, WorkspaceContent};
use tokio::io::unix::AsyncFd;

use super::backend::NativeBackendState;
use super::cgroup::ControlGroup;
use super::command::PreparedCommand;
use super::host_view::{HostDescription, host_view, toolchain_of};
use super::init_channel::{ChannelSocket, FIRST_JOB};
use super::launcher_handle::unsupported;
use super::limits;
use super::network::RequestedNetwork;
use super::protocol::{InitReport, InitRequest, JoinCgroupsMessage, SandboxOrder, SandboxPurpose};
use super::sandbox::random;
use crate::SandboxError;
use menace_isolation::channel;

/// Host name inside every sandbox.
pub(super) const HOST_NAME: &str = "sandbox";

/// Purpose of a sandbox and its additions to the default.
pub(super) struct SandboxExtras {
    pub(super) kind: SandboxPurpose,
    /// Program outside of `PATH` whose installation has to be visible.
    pub(super) interpreter: Option<PathBuf>,
    pub(super) entries: Vec<SkeletonEntry>,
    /// Certificate of an authority that programs inside must trust, beside that of their own network.
    pub(super) trusted: Option<String>,
}

impl SandboxExtras {
    /// No additions.
    pub(super) fn none() -> Self {
        Self { kind: SandboxPurpose::Final, interpreter: None, entries: Vec::new(), trusted: None }
    }
}

/// Unassigned user ids of the host: each sandbox of a root caller runs as one of them, chosen at random.
const UNPRIVILEGED_RANGE: std::ops::Range<u32> = 0x6000_0000..0x7000_0000;

pub(super) fn order(
    shared: &NativeBackendState,
    spec: &SandboxSpec,
    kept: &limits::AssignedLimits,
    extras: &SandboxExtras,
    group: Option<&ControlGroup>,
    network: Option<&RequestedNetwork>,
) -> SandboxOrder {
    let owner = if shared.privileged {
        let range = UNPRIVILEGED_RANGE.end - UNPRIVILEGED_RANGE.start;
        let offset =
            u32::try_from(random() % u64::from(range)).expect("the remainder of a u32 range fits into a u32");
        (UNPRIVILEGED_RANGE.start + offset, UNPRIVILEGED_RANGE.start + offset)
    } else {
        (0, 0)
    };
    let workspace = match &spec.workspace {
        WorkspaceContent::Empty => WorkspaceBacking::Empty,
        // Each call of a zygote has a layer of its own.
        WorkspaceContent::CopyOnWrite(directory) if extras.kind == SandboxPurpose::Base => {
            WorkspaceBacking::ReadOnly(directory.clone())
        }
        WorkspaceContent::CopyOnWrite(directory) => WorkspaceBacking::CopyOnWrite(directory.clone()),
        WorkspaceContent::ReadWrite(directory) => WorkspaceBacking::ReadWrite(directory.clone()),
    };
    SandboxOrder {
        scratch: ScratchOptions {
            size: spec.limits.effective_disk(),
            owner,
            workspace,
            privileged: shared.privileged,
        },
        mounts: spec.mounts.clone(),
        own_skeleton: own_skeleton(spec, extras),
        user: spec.user,
        // The init process counts too, and so do the leaders of programs.
        processes: Some(spec.limits.effective_pids() + 1),
        open_files: spec.limits.open_files,
        data_bytes: kept.data_bytes,
        born_in_cgroup: group.is_some_and(|group| group.clone_into().is_some()),
        joins_later: !shared.hierarchies.has_version_2(),
        kind: extras.kind,
        asked: crate::faults::numbers(&spec.faults),
        interface: network.map(RequestedNetwork::interface),
        trusted: network.and_then(RequestedNetwork::trusted).or_else(|| extras.trusted.clone()),
    }
}

/// Skeleton of this sandbox alone: the user's mounts need mount points, which the common skeleton lacks.
fn own_skeleton(spec: &SandboxSpec, extras: &SandboxExtras) -> Option<Vec<SkeletonEntry>> {
    if spec.mounts.is_empty() && extras.entries.is_empty() && spec.user == SandboxUser::default() {
        return None;
    }
    let host = HostDescription::of_this_process(spec.user, HOST_NAME.into());
    let mut view = host_view(&host);
    if let Some(interpreter) = &extras.interpreter {
        let installation = toolchain_of(interpreter, &host, &view);
        view.entries.extend(installation);
    }
    view.entries.extend(spec.mounts.iter().map(|mount| mount_point_for(&mount.source, &mount.target)));
    view.entries.extend(extras.entries.iter().cloned());
    Some(view.entries)
}

fn mount_point_for(source: &Path, target: &Path) -> SkeletonEntry {
    if source.is_dir() {
        SkeletonEntry::Directory { target: target.to_owned() }
    } else {
        SkeletonEntry::File { target: target.to_owned(), content: String::new() }
    }
}

/// Sandbox that is ready.
pub(super) struct LaunchedSandbox {
    pub(super) socket: ChannelSocket,
    pub(super) first_process: AsyncFd<OwnedFd>,
    pub(super) left_out: Vec<String>,
    /// Host's end of the interface and the seccomp listener for the fault injector, as far as the sandbox has them, in
    /// this order.
    pub(super) handed_over: VecDeque<OwnedFd>,
    /// Reports of the init process about its command that have already arrived.
    pub(super) early: Vec<InitReport>,
}

/// Sandbox that was ordered and is not ready yet. Dropping it ends it.
pub(super) struct PendingLaunch {
    socket: ChannelSocket,
}

impl PendingLaunch {
    /// Orders a sandbox.
    pub(super) async fn order(
        shared: &NativeBackendState,
        order: &SandboxOrder,
        group: Option<&ControlGroup>,
    ) -> Result<Self, SandboxError> {
        let (ours, theirs) = channel::pair().map_err(SandboxError::io("open a channel to a sandbox"))?;
        let joined = group.map_or(Ok(Vec::new()), ControlGroup::join_descriptors)?;
        let mut descriptors = vec![theirs.as_fd()];
        descriptors.extend(group.and_then(ControlGroup::clone_into));
        descriptors.extend(joined.iter().map(AsFd::as_fd));
        let socket = ChannelSocket::new(ours).map_err(SandboxError::io("watch a sandbox"))?;
        shared
            .launcher
            .order(order, &descriptors)
            .await
            .map_err(SandboxError::io("send an order to the launcher"))?;
        Ok(Self { socket })
    }

    /// Sends the cgroups to join.
    pub(super) async fn join(&mut self, group: Option<&ControlGroup>) -> Result<(), SandboxError> {
        let joined = group.map_or(Ok(Vec::new()), ControlGroup::join_descriptors)?;
        let descriptors: Vec<_> = joined.iter().map(AsFd::as_fd).collect();
        match self.socket.send(&JoinCgroupsMessage, &descriptors).await {
            // The init process failed before it needed them, and reports the reason.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(SandboxError::io("send cgroups to a sandbox")),
        }
    }

    /// Requests the command that starts as soon as the init process is ready.
    pub(super) async fn request_command(
        &self,
        spec: &SandboxSpec,
        shared: &NativeBackendState,
        request: ExecRequest,
        counts_cpu: bool,
    ) -> Result<PreparedCommand, SandboxError> {
        let (command, program, descriptors) =
            PreparedCommand::prepare(spec, &shared.environment, request, counts_cpu)?;
        let run = InitRequest::Run { job: FIRST_JOB, program, once: true };
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        match self.socket.send(&run, &descriptors).await {
            // The init process failed during set-up, and reports the reason.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(command),
            result => result.map(|()| command).map_err(SandboxError::io("send a command to a sandbox")),
        }
    }

    /// Waits until the init process is ready.
    pub(super) async fn finish(self) -> Result<LaunchedSandbox, SandboxError> {
        // The launcher and the init process both write to the channel, in either order; the init process may even
        // report on its command before the launcher reports the birth.
        let (mut first_process, mut ready, mut early) = (None, None, Vec::new());
        while first_process.is_none() || ready.is_none() {
            match self.socket.receive().await.map_err(SandboxError::io("receive from a sandbox"))? {
                Some((InitReport::Born, mut handles)) => first_process = handles.pop(),
                Some((InitReport::Ready { left_out }, handed_over)) => ready = Some((left_out, handed_over)),
                Some((InitReport::Failed(error), _)) => return Err(unsupported(&error)),
                Some((report, _)) if ready.is_some() => early.push(report),
                Some((report, _)) => {
                    return Err(SandboxError::Protocol(format!(
                        "unexpected report from a new sandbox: {report:?}"
                    )));
                }
                None => return Err(SandboxError::Protocol("the sandbox ended before it was ready".into())),
            }
        }
        let (handle, (left_out, handed_over)) =
            first_process.zip(ready).expect("the loop ends when both are set");
        // SAFETY: an `OwnedFd` always returns the same descriptor and keeps it open until it is dropped.
        let handle = unsafe { AsyncFd::register_with_interest(handle, tokio::io::Interest::READABLE) }
            .map_err(|error| SandboxError::io("watch the init process of a sandbox")(error.into()))?;
        Ok(LaunchedSandbox {
            socket: self.socket,
            first_process: handle,
            left_out,
            handed_over: handed_over.into(),
            early,
        })
    }
}
