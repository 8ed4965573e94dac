//! One Docker sandbox.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bollard::query_parameters::StartContainerOptions;
use menace_guest::protocol::{GuestInspection, GuestRequest};
use menace_model::faults::FaultCount;
use menace_model::network::{NetworkReport, NetworkSpec};
use menace_model::sandbox::{
    ExecOutcome, ExecRequest, FileChanges, FileEntry, FileOperation, LimitsChange, SandboxIsolation,
    SandboxLimits, SandboxSpec, SandboxState, SandboxStats,
};
use tokio::io::{AsyncRead, AsyncWrite};

use super::capabilities::in_use;
use super::changes::ContainerChanges;
use super::configuration::unenforced_properties;
use super::container::StartedContainer;
use super::engine::is_conflict;
use super::handle::ContainerHandle;
use super::janitor::{ContainerJanitor, remove};
use super::pool::PoolMembership;
use super::process::DockerProcess;
use super::{check, connection, guest_requests, limits, stats};
use crate::environment::BaseEnvironment;
use crate::native::namespaces_of_this_process;
use crate::{Sandbox, SandboxConnection, SandboxError, SandboxFileWatch, SandboxProcess, SandboxSnapshot};

/// Sandbox in a container.
pub(super) struct DockerSandbox {
    pub(super) handle: Arc<ContainerHandle>,
    spec: SandboxSpec,
    environment: BaseEnvironment,
    /// Time at which the host files had been copied into it.
    since: Option<i128>,
    janitor: Arc<ContainerJanitor>,
    /// Membership in the pool until the container is destroyed.
    member: Mutex<Option<PoolMembership>>,
}

impl DockerSandbox {
    pub(super) fn new(
        made: StartedContainer,
        spec: SandboxSpec,
        environment: BaseEnvironment,
        janitor: Arc<ContainerJanitor>,
        member: Option<PoolMembership>,
    ) -> Self {
        let StartedContainer { handle, since } = made;
        Self { handle, spec, environment, since, janitor, member: Mutex::new(member) }
    }

    async fn start_process(&self, request: ExecRequest) -> Result<DockerProcess, SandboxError> {
        DockerProcess::start(&self.handle, &self.spec, &self.environment, request).await
    }

    async fn scan_changes(&self) -> Result<ContainerChanges, SandboxError> {
        ContainerChanges::scan(&self.handle, &self.spec, self.since).await
    }
}

impl Drop for DockerSandbox {
    fn drop(&mut self) {
        if !self.handle.is_destroyed.swap(true, Ordering::AcqRel) {
            self.janitor.remove_later(&self.handle.id);
        }
    }
}

#[async_trait]
impl Sandbox for DockerSandbox {
    fn id(&self) -> &str {
        &self.handle.id
    }

    async fn exec(&self, request: ExecRequest) -> Result<ExecOutcome, SandboxError> {
        self.start_process(request).await?.collect(self.spec.limits.output).await
    }

    async fn spawn(&self, request: ExecRequest) -> Result<Box<dyn SandboxProcess>, SandboxError> {
        let mut process = self.start_process(request).await?;
        process.wait_until_started().await?;
        Ok(Box::new(process))
    }

    async fn put(
        &self,
        directory: &Path,
        archive: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<(), SandboxError> {
        guest_requests::unpack(&self.handle, directory, archive).await.map(drop)
    }

    async fn get(
        &self,
        path: &Path,
        archive: &mut (dyn AsyncWrite + Send + Unpin),
    ) -> Result<(), SandboxError> {
        guest_requests::pack(&self.handle, &GuestRequest::Pack { path: path.to_owned() }, path, archive).await
    }

    async fn stats(&self) -> Result<SandboxStats, SandboxError> {
        let counted = stats::stats(&self.handle, self.spec.limits.cpus.is_some()).await?;
        // In a frozen container the guest program cannot count files.
        if self.handle.is_paused() {
            return Ok(counted);
        }
        let disk_bytes = Some(guest_requests::inspect(&self.handle).await?.disk_bytes);
        Ok(SandboxStats { disk_bytes, ..counted })
    }

    async fn changes(&self) -> Result<FileChanges, SandboxError> {
        Ok(self.scan_changes().await?.files())
    }

    async fn isolation(&self) -> Result<SandboxIsolation, SandboxError> {
        let inspection = guest_requests::inspect(&self.handle).await?;
        let mut left_out = unenforced_properties(&self.spec.limits);
        let differs = differences(&self.handle, &inspection, &mut left_out)?;
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
            landlock_abi: 0,
            controllers: in_use(&self.handle.engine, &self.spec.limits),
            left_out,
        })
    }

    async fn network(&self) -> Result<NetworkReport, SandboxError> {
        Ok(NetworkReport::default())
    }

    async fn change_network(&self, _spec: NetworkSpec) -> Result<(), SandboxError> {
        Err(SandboxError::Refused {
            problem: "containers do not support managed networks".into(),
            hint: "use the native backend and create the sandbox with a network".into(),
        })
    }

    async fn faults(&self) -> Result<Vec<FaultCount>, SandboxError> {
        Ok(Vec::new())
    }

    async fn files(&self, work: FileOperation) -> Result<Vec<FileEntry>, SandboxError> {
        guest_requests::files(&self.handle, work).await
    }

    async fn watch(&self, path: &Path) -> Result<Box<dyn SandboxFileWatch>, SandboxError> {
        Ok(Box::new(guest_requests::watch(&self.handle, path).await?))
    }

    async fn connect(&self, port: u16) -> Result<Box<dyn SandboxConnection>, SandboxError> {
        Ok(Box::new(connection::connect(&self.handle, port).await?))
    }

    async fn change_limits(&self, change: LimitsChange) -> Result<(), SandboxError> {
        let LimitsChange { memory, cpus, pids } = change;
        let disk = self.spec.limits.disk;
        let new_memory = memory.or(self.spec.limits.memory);
        let limits = SandboxLimits { memory: new_memory, cpus, pids, disk, ..SandboxLimits::default() };
        check::limits(&limits, &self.handle.engine)?;
        limits::change_limits(&self.handle, change).await
    }

    /// The container keeps running with only the init process in it, so that files in memory stay too.
    async fn stop(&self) -> Result<(), SandboxError> {
        self.resume().await?;
        self.handle.empty().await
    }

    async fn start(&self) -> Result<(), SandboxError> {
        self.handle.check_alive()?;
        if self.handle.state().await?.running == Some(true) {
            return Ok(());
        }
        // For example, the engine was restarted.
        let container = &self.handle.container;
        match self.handle.engine.docker.start_container(container, None::<StartContainerOptions>).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.handle.failed("start a container", error).await),
        }
    }

    async fn pause(&self) -> Result<(), SandboxError> {
        self.handle.check_alive()?;
        if self.handle.is_paused.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        match self.handle.engine.docker.pause_container(&self.handle.container).await {
            Ok(()) => Ok(()),
            Err(error) => {
                self.handle.is_paused.store(false, Ordering::Release);
                Err(self.handle.failed("pause a container", error).await)
            }
        }
    }

    async fn resume(&self) -> Result<(), SandboxError> {
        self.handle.check_alive()?;
        if !self.handle.is_paused.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        match self.handle.engine.docker.unpause_container(&self.handle.container).await {
            Ok(()) => Ok(()),
            // Another client of the engine has resumed it.
            Err(error) if is_conflict(&error) => self.handle.running_state().await.map(drop),
            Err(error) => Err(self.handle.failed("resume a container", error).await),
        }
    }

    async fn snapshot(&self) -> Result<SandboxSnapshot, SandboxError> {
        self.scan_changes().await?.snapshot(&self.handle, &self.spec).await
    }

    async fn destroy(&self) -> Result<(), SandboxError> {
        if self.handle.is_destroyed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let engine = &self.handle.engine;
        if let Err(error) = remove(&engine.docker, &self.handle.id).await {
            // A later call must be able to retry.
            self.handle.is_destroyed.store(false, Ordering::Release);
            return Err(engine.failed("remove a container", error));
        }
        drop(self.member.lock().unwrap_or_else(PoisonError::into_inner).take());
        Ok(())
    }

    async fn state(&self) -> Result<SandboxState, SandboxError> {
        self.handle.check_alive()?;
        let state = self.handle.state().await?;
        Ok(match (state.running, state.paused) {
            (_, Some(true)) => SandboxState::Paused,
            (Some(true), _) => SandboxState::Running,
            _ => SandboxState::Ended,
        })
    }
}

/// Returns a predicate that tells which namespaces differ from those of this process. For an engine on another machine
/// this is unknown.
fn differences(
    handle: &ContainerHandle,
    inspection: &GuestInspection,
    left_out: &mut Vec<String>,
) -> Result<impl Fn(&str) -> bool + use<>, SandboxError> {
    let host = if handle.engine.is_local() {
        namespaces_of_this_process().map_err(SandboxError::io("read the namespaces of this process"))?
    } else {
        left_out.push("compare namespaces with those of the engine's host, which is another machine".into());
        Vec::new()
    };
    let inside = inspection.namespaces.clone();
    Ok(move |kind: &str| {
        let of = |all: &[(String, u64)]| all.iter().find(|(name, _)| name == kind).map(|(_, inode)| *inode);
        matches!((of(&inside), of(&host)), (Some(inside), Some(outside)) if inside != outside)
    })
}
