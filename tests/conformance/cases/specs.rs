//! Specs that are refused.

use std::path::{Path, PathBuf};

use menace_model::sandbox::{
    HostMount, MountAccess, ResourceController, SandboxLimits, SandboxSpec, WorkspaceContent,
};
use menace_sandbox::Backend;

use crate::directory::HostDirectory;
use crate::harness::{error, names, skip_unclaimed};

fn mount(source: PathBuf, target: &str) -> SandboxSpec {
    let mount = HostMount { source, target: PathBuf::from(target), access: MountAccess::ReadOnly };
    SandboxSpec { mounts: vec![mount], ..SandboxSpec::default() }
}

pub(crate) async fn a_relative_mount_target_is_refused(backend: &dyn Backend) {
    let directory = HostDirectory::with(&[]);
    names(backend.create(mount(directory.path(), "relative/target")).await, Path::new("relative/target"));
}

pub(crate) async fn a_mount_target_that_goes_up_is_refused(backend: &dyn Backend) {
    let directory = HostDirectory::with(&[]);
    names(backend.create(mount(directory.path(), "/data/../up")).await, Path::new("/data/../up"));
}

pub(crate) async fn a_missing_mount_source_is_refused(backend: &dyn Backend) {
    let missing = HostDirectory::with(&[]).path().join("missing");
    names(backend.create(mount(missing.clone(), "/data")).await, &missing);
}

pub(crate) async fn a_missing_workspace_is_refused(backend: &dyn Backend) {
    let missing = HostDirectory::with(&[]).path().join("missing");
    for workspace in
        [WorkspaceContent::CopyOnWrite(missing.clone()), WorkspaceContent::ReadWrite(missing.clone())]
    {
        names(backend.create(SandboxSpec { workspace, ..SandboxSpec::default() }).await, &missing);
    }
}

pub(crate) async fn a_file_as_workspace_is_refused(backend: &dyn Backend) {
    let directory = HostDirectory::with(&[("file", "text")]);
    let file = directory.path().join("file");
    let workspace = WorkspaceContent::CopyOnWrite(file.clone());
    names(backend.create(SandboxSpec { workspace, ..SandboxSpec::default() }).await, &file);
}

pub(crate) async fn an_unenforceable_limit_is_refused(backend: &dyn Backend) {
    let kept = backend.capabilities().controllers;
    for (controller, limits) in [
        (ResourceController::Memory, SandboxLimits { memory: Some(64 << 20), ..SandboxLimits::default() }),
        (ResourceController::Cpu, SandboxLimits { cpus: Some(0.5), ..SandboxLimits::default() }),
        (ResourceController::Pids, SandboxLimits { pids: Some(32), ..SandboxLimits::default() }),
    ] {
        let made = backend.create(SandboxSpec { limits, ..SandboxSpec::default() }).await;
        if kept.contains_key(&controller) {
            made.unwrap_or_else(|error| panic!("{controller:?} is claimed but not enforced: {error}"));
        } else {
            skip_unclaimed(backend, &format!("{controller:?}"));
            error(made);
        }
    }
}
