//! Host paths of a spec: made absolute and checked for existence and kind before the sandbox is created.

use std::io;
use std::path::{Component, Path, PathBuf};

use menace_model::sandbox::{SandboxSpec, WorkspaceContent};

use crate::SandboxError;

/// Paths inside that the sandbox itself mounts.
const RESERVED: [&str; 4] = ["/", "/proc", "/dev", "/sys"];

/// Makes the host paths of a spec absolute and rejects those that cannot be mounted.
pub(crate) fn make_absolute(spec: &mut SandboxSpec) -> Result<(), SandboxError> {
    match &mut spec.workspace {
        WorkspaceContent::Empty => {}
        WorkspaceContent::CopyOnWrite(directory) | WorkspaceContent::ReadWrite(directory) => {
            *directory = resolve(directory)?;
            if !directory.is_dir() {
                return Err(host_path(directory, io::ErrorKind::NotADirectory.into()));
            }
        }
    }
    for mount in &mut spec.mounts {
        check_target(&mount.target)?;
        mount.source = resolve(&mount.source)?;
    }
    Ok(())
}

fn resolve(path: &Path) -> Result<PathBuf, SandboxError> {
    path.canonicalize().map_err(|source| host_path(path, source))
}

fn host_path(path: &Path, source: io::Error) -> SandboxError {
    SandboxError::HostPath { path: path.to_owned(), source }
}

fn check_target(target: &Path) -> Result<(), SandboxError> {
    let is_plain = target.is_absolute()
        && target.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !is_plain {
        return Err(SandboxError::Refused {
            problem: format!("cannot mount at {}", target.display()),
            hint: "the target must be an absolute path without '..', such as /data".into(),
        });
    }
    let is_reserved = |reserved: &&str| {
        let reserved = Path::new(reserved);
        target == reserved || (reserved != Path::new("/") && target.starts_with(reserved))
    };
    if RESERVED.iter().any(is_reserved) {
        return Err(SandboxError::Refused {
            problem: format!("cannot mount at {}: the path is reserved", target.display()),
            hint: "choose another target, such as /data".into(),
        });
    }
    Ok(())
}
