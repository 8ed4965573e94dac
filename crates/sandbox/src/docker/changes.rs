//! Files written and deleted in a container since its creation.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bollard::models::ChangeType;
use menace_guest::protocol::{GuestRequest, ListedFile, ListingRequest};
use menace_model::sandbox::{FileChanges, SandboxSpec, WORKSPACE, WorkspaceContent};

use super::blocking_file::BlockingFile;
use super::configuration::{OURS, is_read_only};
use super::guest_requests::{list, pack};
use super::handle::ContainerHandle;
use super::host_files;
use crate::{SandboxError, SandboxSnapshot};

/// Paths that the engine itself writes into a container's layer, and paths outside of the layer.
const NOT_THE_USERS: [&str; 8] =
    ["/dev", "/proc", "/sys", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/mtab", OURS];
/// Files to which Podman adds the user of a container if the image has no such user. Only root could write there
/// afterwards.
const ACCOUNTS: [&str; 2] = ["/etc/passwd", "/etc/group"];

/// Result of a scan for changed files.
pub(super) struct ContainerChanges {
    what: ListingRequest,
    found: Vec<ListedFile>,
    /// Deleted paths of the container's layer.
    deleted_of_image: Vec<PathBuf>,
    /// Deleted files and directories of the host directory, with whether each is a file.
    deleted_of_host: Vec<(PathBuf, bool)>,
}

impl ContainerChanges {
    /// Scans the container. `since` is the time at which all host files had been copied.
    pub(super) async fn scan(
        handle: &Arc<ContainerHandle>,
        spec: &SandboxSpec,
        since: Option<i128>,
    ) -> Result<Self, SandboxError> {
        let below = below(spec, since)?;
        let mut what =
            ListingRequest { directories: vec![WORKSPACE.into()], paths: Vec::new(), after: since };
        let mut deleted_of_image = Vec::new();
        if is_read_only(spec) {
            what.directories.push("/tmp".into());
        } else {
            (what.paths, deleted_of_image) = layer_changes(handle, spec).await?;
        }
        let found = list(handle, what.clone()).await?;
        let deleted_of_host = match below {
            None => Vec::new(),
            Some(directory) => deleted(directory, &found)?,
        };
        Ok(Self { what, found, deleted_of_image, deleted_of_host })
    }

    /// Changed files, without directories.
    pub(super) fn files(&self) -> FileChanges {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let written = self.found.iter().filter(|one| one.is_written && !one.is_directory);
        let written: BTreeSet<String> = written.map(|one| text(Path::new(&one.path))).collect();
        let deleted_files = self.deleted_of_host.iter().filter(|(_, is_file)| *is_file).map(|(path, _)| path);
        let deleted: BTreeSet<String> =
            deleted_files.chain(&self.deleted_of_image).map(|path| text(path)).collect();
        FileChanges { written: written.into_iter().collect(), deleted: deleted.into_iter().collect() }
    }

    /// Copies the written files into a snapshot.
    pub(super) async fn snapshot(
        self,
        handle: &Arc<ContainerHandle>,
        spec: &SandboxSpec,
    ) -> Result<SandboxSnapshot, SandboxError> {
        let file = tempfile::Builder::new().prefix("menace-snapshot-").suffix(".tar").tempfile();
        let (file, path) = file.map_err(SandboxError::io("create a snapshot file"))?.into_parts();
        let mut file = BlockingFile(file);
        let order = GuestRequest::PackWritten(self.what.clone());
        pack(handle, &order, Path::new("/"), &mut file).await?;
        let changes = self.files();
        let removed = self.deleted_of_host.into_iter().map(|(path, _)| path).chain(self.deleted_of_image);
        Ok(SandboxSnapshot {
            spec: spec.clone(),
            changes,
            removed: removed.collect(),
            archive: Arc::new(path),
        })
    }
}

/// Host directory that was copied into the workspace, if any. Fails if the time of the copy is unknown.
fn below(spec: &SandboxSpec, since: Option<i128>) -> Result<Option<&Path>, SandboxError> {
    match &spec.workspace {
        WorkspaceContent::Empty => Ok(None),
        WorkspaceContent::CopyOnWrite(directory) if since.is_some() => Ok(Some(directory)),
        WorkspaceContent::CopyOnWrite(_) => Err(SandboxError::Refused {
            problem: "the copy time of this sandbox's files is unknown, so its changes cannot be determined"
                .into(),
            hint: "create the sandbox again".into(),
        }),
        WorkspaceContent::ReadWrite(_) => Err(SandboxError::Refused {
            problem: "changes are not tracked in a sandbox that writes directly to the host directory".into(),
            hint: "use a copy-on-write workspace".into(),
        }),
    }
}

/// Paths written and deleted in the container's layer.
async fn layer_changes(
    handle: &ContainerHandle,
    spec: &SandboxSpec,
) -> Result<(Vec<PathBuf>, Vec<PathBuf>), SandboxError> {
    handle.check_alive()?;
    let found = handle.engine.docker.container_changes(&handle.container).await;
    let found = match found {
        Ok(found) => found.unwrap_or_default(),
        Err(error) => return Err(handle.failed("list the changes of a container", error).await),
    };
    let is_user_path = |path: &Path| {
        let targets = spec.mounts.iter().map(|mount| mount.target.as_path());
        let accounts: &[&str] = if spec.user.uid == 0 { &[] } else { &ACCOUNTS };
        let engines = NOT_THE_USERS.iter().chain(accounts).map(Path::new);
        let mut others = engines.chain([Path::new(WORKSPACE)]).chain(targets);
        !others.any(|other| path.starts_with(other))
    };
    let (mut written, mut deleted) = (Vec::new(), Vec::new());
    for change in found {
        let path = PathBuf::from(change.path);
        if !is_user_path(&path) {
            continue;
        }
        match change.kind {
            ChangeType::_2 => deleted.push(path),
            _ => written.push(path),
        }
    }
    Ok((written, deleted))
}

/// Paths of the host directory that are missing in the workspace or have another type there.
fn deleted(directory: &Path, found: &[ListedFile]) -> Result<Vec<(PathBuf, bool)>, SandboxError> {
    let present: BTreeSet<(&Path, bool)> =
        found.iter().map(|one| (Path::new(&one.path), one.is_directory)).collect();
    let host_entries = host_files::below(directory)?;
    let inside =
        host_entries.iter().map(|(path, metadata)| (Path::new(WORKSPACE).join(path), metadata.is_dir()));
    let gone = inside.filter(|(path, is_directory)| !present.contains(&(path.as_path(), *is_directory)));
    Ok(gone.map(|(path, is_directory)| (path, !is_directory)).collect())
}
