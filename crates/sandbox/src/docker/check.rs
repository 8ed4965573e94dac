//! Validation of specs for containers before anything is created: a requested property is honoured or an error, never
//! ignored.

use std::path::Path;

use menace_model::network::NetworkMode;
use menace_model::sandbox::{
    MountAccess, ResourceController, SandboxLimits, SandboxSpec, SandboxUser, WorkspaceContent,
};

use super::capabilities::{can_write_as, capabilities};
use super::engine::DockerEngine;
use crate::SandboxError;
use crate::native::paths::make_absolute;

/// Mount targets reserved for the sandbox's programs or for menace.
const RESERVED: [&str; 4] = ["/tmp", "/var/tmp", "/.menace", "/dev/shm"];

/// Smallest memory limit with which a container and the guest program can run.
const SMALLEST_MEMORY: u64 = 16 << 20;

/// Makes the paths of a spec absolute and rejects what this engine does not support.
pub(super) fn check(spec: &mut SandboxSpec, engine: &DockerEngine) -> Result<(), SandboxError> {
    make_absolute(spec)?;
    network(&spec.network)?;
    if !spec.faults.is_empty() {
        return refuse("containers do not support system call faults", "use the native backend");
    }
    user(spec.user, engine)?;
    workspace(spec, engine)?;
    mounts(spec, engine)?;
    limits(&spec.limits, engine)
}

fn network(network: &NetworkMode) -> Result<(), SandboxError> {
    match network {
        NetworkMode::None => Ok(()),
        NetworkMode::Managed(_) => {
            refuse("containers do not support managed networks", "use the native backend, or no network")
        }
    }
}

/// Rejects users that would be root on the engine's host.
fn user(user: SandboxUser, engine: &DockerEngine) -> Result<(), SandboxError> {
    if (user.uid == 0 || user.gid == 0) && !engine.maps_users() {
        return refuse(
            "root in the container would be root on the engine's host",
            "start dockerd with --userns-remap, or choose another user",
        );
    }
    Ok(())
}

fn workspace(spec: &SandboxSpec, engine: &DockerEngine) -> Result<(), SandboxError> {
    match &spec.workspace {
        WorkspaceContent::Empty | WorkspaceContent::CopyOnWrite(_) => Ok(()),
        WorkspaceContent::ReadWrite(directory) => shared(directory, spec, engine),
    }
}

fn shared(path: &Path, spec: &SandboxSpec, engine: &DockerEngine) -> Result<(), SandboxError> {
    if spec.limits.disk.is_some() {
        return refuse(
            &format!("a disk limit cannot be enforced for writes to {}", path.display()),
            "remove the disk limit, or use a copy-on-write workspace",
        );
    }
    if can_write_as(engine, spec.user) {
        return Ok(());
    }
    refuse(
        &format!("files that user {} writes to {} would not belong to you", spec.user.uid, path.display()),
        "use a copy-on-write workspace, or run commands with your own user id on a local engine that does not \
         map users",
    )
}

fn mounts(spec: &SandboxSpec, engine: &DockerEngine) -> Result<(), SandboxError> {
    for mount in &spec.mounts {
        if !engine.is_local() {
            return refuse(
                &format!("cannot mount {}: the engine runs on another machine", mount.source.display()),
                "upload the files into the sandbox instead",
            );
        }
        if RESERVED.iter().any(|reserved| mount.target.starts_with(reserved)) {
            return refuse(
                &format!("cannot mount at {}: the path is reserved", mount.target.display()),
                "choose another mount point, such as /data",
            );
        }
        if mount.access == MountAccess::ReadWrite {
            shared(&mount.source, spec, engine)?;
        }
    }
    Ok(())
}

/// Rejects limits that the engine's host cannot enforce.
pub(super) fn limits(limits: &SandboxLimits, engine: &DockerEngine) -> Result<(), SandboxError> {
    let controllers = capabilities(engine).controllers;
    for (controller, is_requested) in [
        (ResourceController::Memory, limits.memory.is_some()),
        (ResourceController::Cpu, limits.cpus.is_some()),
        (ResourceController::Pids, limits.pids.is_some()),
    ] {
        if is_requested && !controllers.contains_key(&controller) {
            return refuse(
                &format!("the engine cannot enforce a {controller:?} limit"),
                "'docker info' shows what its host lacks",
            );
        }
    }
    let memory = limits.effective_memory();
    let most = engine.info.mem_total.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(u64::MAX);
    if memory < SMALLEST_MEMORY || limits.memory.is_some_and(|requested| requested > most) {
        return refuse(
            &format!("a memory limit of {} MiB cannot be enforced", memory >> 20),
            &format!("request {} to {} MiB", SMALLEST_MEMORY >> 20, most >> 20),
        );
    }
    if let Some(disk) = limits.disk
        && (disk < 64 << 10 || disk + SMALLEST_MEMORY > memory)
    {
        return refuse(
            &format!(
                "a disk of {} KiB does not fit into {} MiB of memory, where its files are stored",
                disk >> 10,
                memory >> 20
            ),
            "request at least 64k of disk, and more memory than disk",
        );
    }
    let cores = engine.info.ncpu.unwrap_or(i64::MAX) as f64;
    if limits.cpus.is_some_and(|cpus| !(0.01..=cores).contains(&cpus)) {
        return refuse("the requested CPU share is out of range", &format!("request 0.01 to {cores} CPUs"));
    }
    // The init process and the leader of a command belong to menace.
    if limits.effective_pids() < 4 || limits.open_files < 16 {
        return refuse(
            "the limits on processes or open files are too low to start a command",
            "request at least 4 processes and 16 open files",
        );
    }
    Ok(())
}

fn refuse(problem: &str, hint: &str) -> Result<(), SandboxError> {
    Err(SandboxError::Refused { problem: problem.to_owned(), hint: hint.to_owned() })
}
