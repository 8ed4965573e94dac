//! Host files of a fake sandbox, read once at its creation. Nothing is ever written back.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use menace_model::sandbox::{HostMount, MountAccess, SandboxSpec, WORKSPACE, WorkspaceContent};
use menace_sandbox::SandboxError;

use crate::file_system::{FakeFileNode, FakeFileNodes, FakeFileSystem};

/// Initial files of a sandbox.
pub(crate) fn read(spec: &SandboxSpec) -> Result<FakeFileSystem, SandboxError> {
    let mut nodes = skeleton();
    match &spec.workspace {
        WorkspaceContent::Empty => {}
        WorkspaceContent::CopyOnWrite(directory) => read_workspace(directory, &mut nodes)?,
        WorkspaceContent::ReadWrite(directory) => return Err(refuse_writing(directory)),
    }
    let mut read_only = Vec::new();
    for mount in &spec.mounts {
        read_mount(mount, &mut nodes)?;
        read_only.push(mount.target.clone());
    }
    Ok(FakeFileSystem::new(nodes, read_only, spec.limits.effective_disk()))
}

fn skeleton() -> FakeFileNodes {
    let directories = ["/", "/dev", "/tmp", WORKSPACE].map(|path| (path, FakeFileNode::directory()));
    let devices = [("/dev/null", FakeFileNode::Null), ("/dev/zero", FakeFileNode::Zero)];
    directories.into_iter().chain(devices).map(|(path, node)| (PathBuf::from(path), Arc::new(node))).collect()
}

fn read_workspace(directory: &Path, nodes: &mut FakeFileNodes) -> Result<(), SandboxError> {
    let is_directory = fs::metadata(directory).map_err(host_path(directory))?.is_dir();
    if !is_directory {
        return Err(host_path(directory)(io::ErrorKind::NotADirectory.into()));
    }
    read_tree(directory, Path::new(WORKSPACE), nodes)
}

fn read_mount(mount: &HostMount, nodes: &mut FakeFileNodes) -> Result<(), SandboxError> {
    let target = &mount.target;
    let is_plain = target.components().skip(1).all(|part| matches!(part, std::path::Component::Normal(_)));
    if !target.is_absolute() || !is_plain || target == Path::new("/") {
        return Err(SandboxError::Refused {
            problem: format!("cannot mount at {}", target.display()),
            hint: "use an absolute path below / without ..".to_owned(),
        });
    }
    if mount.access == MountAccess::ReadWrite {
        return Err(refuse_writing(&mount.source));
    }
    for above in target.ancestors().skip(1) {
        nodes.entry(above.to_owned()).or_insert_with(|| Arc::new(FakeFileNode::directory()));
    }
    nodes.retain(|path, _| !path.starts_with(target));
    read_tree(&mount.source, target, nodes)
}

fn read_tree(source: &Path, target: &Path, nodes: &mut FakeFileNodes) -> Result<(), SandboxError> {
    // The path in the spec may be a link and is resolved; links below it stay links.
    let source = fs::canonicalize(source).map_err(host_path(source))?;
    read_node(&source, target, nodes)
}

fn read_node(source: &Path, target: &Path, nodes: &mut FakeFileNodes) -> Result<(), SandboxError> {
    let metadata = fs::symlink_metadata(source).map_err(host_path(source))?;
    let mode = metadata.permissions().mode() & 0o7777;
    let node = if metadata.is_dir() {
        FakeFileNode::Directory { mode }
    } else if metadata.is_symlink() {
        FakeFileNode::Link { target: fs::read_link(source).map_err(host_path(source))? }
    } else if metadata.is_file() {
        FakeFileNode::File { mode, bytes: fs::read(source).map_err(host_path(source))? }
    } else {
        return Err(host_path(source)(io::Error::new(
            io::ErrorKind::Unsupported,
            "the fake backend supports only files, directories and links",
        )));
    };
    nodes.insert(target.to_owned(), Arc::new(node));
    if metadata.is_dir() {
        for entry in fs::read_dir(source).map_err(host_path(source))? {
            let entry = entry.map_err(host_path(source))?;
            read_node(&entry.path(), &target.join(entry.file_name()), nodes)?;
        }
    }
    Ok(())
}

fn refuse_writing(path: &Path) -> SandboxError {
    SandboxError::Refused {
        problem: format!("the fake backend does not write to {}", path.display()),
        hint: "use a copy-on-write workspace, or a backend with the capability `read_write`".to_owned(),
    }
}

fn host_path(path: &Path) -> impl FnOnce(io::Error) -> SandboxError {
    let path = path.to_owned();
    move |source| SandboxError::HostPath { path, source }
}
