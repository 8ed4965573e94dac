//! Capabilities of Docker sandboxes.

use std::collections::BTreeMap;

use bollard::models::SystemInfoCgroupVersionEnum;
use menace_model::sandbox::{
    BackendCapabilities, PauseMethod, ResourceController, SandboxLimits, SandboxUser,
};

use super::engine::DockerEngine;

/// Capabilities of sandboxes on this engine.
pub(super) fn capabilities(engine: &DockerEngine) -> BackendCapabilities {
    BackendCapabilities {
        backend: "docker".into(),
        isolates: engine.has_security_option("seccomp"),
        controllers: controllers(engine),
        pause: Some(PauseMethod::Freezer),
        snapshot: true,
        reports_denied: false,
        any_user: true,
        read_write: can_write_as(engine, SandboxUser::default()),
        network: false,
        faults: false,
        terminal: true,
        ports: true,
        live_limits: true,
        watch: true,
        images: true,
        outlives: true,
        ends_at_once: false,
    }
}

/// Whether files written by this user in the container belong to the caller on the host. Only then can host directories
/// be shared for writing.
pub(super) fn can_write_as(engine: &DockerEngine, user: SandboxUser) -> bool {
    engine.is_local() && !engine.maps_users() && rustix::process::geteuid().as_raw() == user.uid
}

/// Controllers that enforce a limit of this sandbox.
pub(super) fn in_use(engine: &DockerEngine, limits: &SandboxLimits) -> BTreeMap<ResourceController, String> {
    let mut used = controllers(engine);
    used.retain(|controller, _| match controller {
        ResourceController::Memory | ResourceController::CpuAccounting | ResourceController::Pids => true,
        ResourceController::Cpu => limits.cpus.is_some(),
        ResourceController::Io | ResourceController::Freezer => false,
    });
    used
}

fn controllers(engine: &DockerEngine) -> BTreeMap<ResourceController, String> {
    let version = match engine.info.cgroup_version {
        Some(SystemInfoCgroupVersionEnum::_2) => "v2",
        _ => "v1",
    };
    let info = &engine.info;
    [
        (ResourceController::Memory, info.memory_limit),
        (ResourceController::Cpu, info.cpu_cfs_quota),
        (ResourceController::CpuAccounting, Some(true)),
        (ResourceController::Pids, info.pids_limit),
        (ResourceController::Freezer, Some(true)),
    ]
    .into_iter()
    .filter(|(_, is_there)| *is_there == Some(true))
    .map(|(controller, _)| (controller, version.to_owned()))
    .collect()
}
