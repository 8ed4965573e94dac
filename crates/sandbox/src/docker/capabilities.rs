//! Capabilities of Docker sandboxes.

use std::collections::BTreeMap;

use bollard::models::SystemInfoCgroupVersionEnum;
use menace_model::sandbox::{Capabilities, Controller, Limits, PauseMethod, User};

use super::engine::Engine;

/// Capabilities of sandboxes on this engine.
pub(super) fn capabilities(engine: &Engine) -> Capabilities {
    Capabilities {
        backend: "docker".into(),
        isolates: engine.has_security_option("seccomp"),
        controllers: controllers(engine),
        pause: Some(PauseMethod::Freezer),
        snapshot: true,
        reports_denied: false,
        any_user: true,
        read_write: can_write_as(engine, User::default()),
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
pub(super) fn can_write_as(engine: &Engine, user: User) -> bool {
    engine.is_local() && !engine.maps_users() && rustix::process::geteuid().as_raw() == user.uid
}

/// Controllers that enforce a limit of this sandbox.
pub(super) fn in_use(engine: &Engine, limits: &Limits) -> BTreeMap<Controller, String> {
    let mut used = controllers(engine);
    used.retain(|controller, _| match controller {
        Controller::Memory | Controller::CpuAccounting | Controller::Pids => true,
        Controller::Cpu => limits.cpus.is_some(),
        Controller::Io | Controller::Freezer => false,
    });
    used
}

fn controllers(engine: &Engine) -> BTreeMap<Controller, String> {
    let version = match engine.info.cgroup_version {
        Some(SystemInfoCgroupVersionEnum::_2) => "v2",
        _ => "v1",
    };
    let info = &engine.info;
    [
        (Controller::Memory, info.memory_limit),
        (Controller::Cpu, info.cpu_cfs_quota),
        (Controller::CpuAccounting, Some(true)),
        (Controller::Pids, info.pids_limit),
        (Controller::Freezer, Some(true)),
    ]
    .into_iter()
    .filter(|(_, is_there)| *is_there == Some(true))
    .map(|(controller, _)| (controller, version.to_owned()))
    .collect()
}
