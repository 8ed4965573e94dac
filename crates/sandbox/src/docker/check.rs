//! Refuses what containers cannot be, before anything is made: what was asked for is kept or an error, never left out.

use std::path::Path;

use menace_model::network::Network;
use menace_model::sandbox::{Access, Controller, Limits, SandboxSpec, User, Workspace};

use super::capabilities::{can_write_as, capabilities};
use super::engine::Engine;
use crate::SandboxError;
use crate::native::paths::make_absolute;

/// Places that belong to the programs of a sandbox, or to us.
const RESERVED: [&str; 4] = ["/tmp", "/var/tmp", "/.menace", "/dev/shm"];

/// The least that a container and our program in it can do with.
const SMALLEST_MEMORY: u64 = 16 << 20;

/// Makes the paths of a spec absolute, and refuses what this engine cannot do.
pub(super) fn check(spec: &mut SandboxSpec, engine: &Engine) -> Result<(), SandboxError> {
    make_absolute(spec)?;
    network(&spec.network)?;
    if !spec.faults.is_empty() {
        return refuse("containers cannot make system calls go wrong", "use the native backend");
    }
    user(spec.user, engine)?;
    workspace(spec, engine)?;
    mounts(spec, engine)?;
    limits(&spec.limits, engine)
}

fn network(network: &Network) -> Result<(), SandboxError> {
    match network {
        Network::None => Ok(()),
        Network::Managed(_) => refuse(
            "containers cannot have a network whose every packet is seen",
            "use the native backend, or no network",
        ),
    }
}

/// Outside nobody is to be more than an ordinary user.
fn user(user: User, engine: &Engine) -> Result<(), SandboxError> {
    if (user.uid == 0 || user.gid == 0) && !engine.maps_users() {
        return refuse(
            "root inside would be root of the engine's host",
            "start dockerd with --userns-remap, or choose another user",
        );
    }
    Ok(())
}

fn workspace(spec: &SandboxSpec, engine: &Engine) -> Result<(), SandboxError> {
    match &spec.workspace {
        Workspace::Empty | Workspace::CopyOnWrite(_) => Ok(()),
        Workspace::ReadWrite(directory) => shared(directory, spec, engine),
    }
}

fn shared(path: &Path, spec: &SandboxSpec, engine: &Engine) -> Result<(), SandboxError> {
    if spec.limits.disk.is_some() {
        return refuse(
            &format!("no limit holds for what is written to {} itself", path.display()),
            "leave the limit on the disk out, or use a copy-on-write workspace",
        );
    }
    if can_write_as(engine, spec.user) {
        return Ok(());
    }
    refuse(
        &format!("user {} inside could not write to {} as you", spec.user.uid, path.display()),
        "use a copy-on-write workspace, or run the commands with your own user id on an engine of this machine that does not \
         map users",
    )
}

fn mounts(spec: &SandboxSpec, engine: &Engine) -> Result<(), SandboxError> {
    for mount in &spec.mounts {
        if !engine.is_local() {
            return refuse(
                &format!("{} is not on the machine of the engine", mount.source.display()),
                "put the files into the sandbox instead of mounting them",
            );
        }
        if RESERVED.iter().any(|reserved| mount.target.starts_with(reserved)) {
            return refuse(
                &format!("cannot mount at {}, which is the sandbox's own", mount.target.display()),
                "choose another place inside, such as /data",
            );
        }
        if mount.access == Access::ReadWrite {
            shared(&mount.source, spec, engine)?;
        }
    }
    Ok(())
}

/// Refuses limits that the engine's host cannot keep.
pub(super) fn limits(limits: &Limits, engine: &Engine) -> Result<(), SandboxError> {
    let kept = capabilities(engine).controllers;
    for (controller, is_asked_for) in [
        (Controller::Memory, limits.memory.is_some()),
        (Controller::Cpu, limits.cpus.is_some()),
        (Controller::Pids, limits.pids.is_some()),
    ] {
        if is_asked_for && !kept.contains_key(&controller) {
            return refuse(
                &format!("the engine cannot keep a limit on {controller:?}"),
                "docker info says what its host lacks",
            );
        }
    }
    let memory = limits.effective_memory();
    let most = engine.info.mem_total.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(u64::MAX);
    if memory < SMALLEST_MEMORY || limits.memory.is_some_and(|asked| asked > most) {
        return refuse(
            &format!("a memory limit of {} MiB cannot be kept", memory >> 20),
            &format!("ask for {} to {} MiB", SMALLEST_MEMORY >> 20, most >> 20),
        );
    }
    if let Some(disk) = limits.disk
        && (disk < 64 << 10 || disk + SMALLEST_MEMORY > memory)
    {
        return refuse(
            &format!(
                "a disk of {} KiB does not fit: its files are in {} MiB of memory",
                disk >> 10,
                memory >> 20
            ),
            "ask for at least 64k, and for more memory than that",
        );
    }
    let cores = engine.info.ncpu.unwrap_or(i64::MAX) as f64;
    if limits.cpus.is_some_and(|cpus| !(0.01..=cores).contains(&cpus)) {
        return refuse("that share of the processors cannot be given", &format!("ask for 0.01 to {cores}"));
    }
    // The first process and the leader of a command are ours.
    if limits.effective_pids() < 4 || limits.open_files < 16 {
        return refuse(
            "so few processes or open files are too few to start anything",
            "ask for at least 4 processes and 16 open files",
        );
    }
    Ok(())
}

fn refuse(problem: &str, hint: &str) -> Result<(), SandboxError> {
    Err(SandboxError::Refused { problem: problem.to_owned(), hint: hint.to_owned() })
}
