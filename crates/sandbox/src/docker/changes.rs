//! What was written and deleted in a container since it was made.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bollard::models::ChangeType;
use menace_inside::protocol::{Found, Listing, Order};
use menace_model::sandbox::{FileChanges, SandboxSpec, WORKSPACE, Workspace};

use super::blocking::Blocking;
use super::configuration::{OURS, is_read_only};
use super::handle::Handle;
use super::host_files;
use super::work::{list, pack};
use crate::{SandboxError, Snapshot};

/// What the engine itself writes into a container's layer, and what is no layer.
const NOT_THE_USERS: [&str; 8] =
    ["/dev", "/proc", "/sys", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/mtab", OURS];
/// Where Podman adds the user of a container, if the image has no such user. Only root could write there afterwards.
const ACCOUNTS: [&str; 2] = ["/etc/passwd", "/etc/group"];

/// A look at everything that may have changed.
pub(super) struct Changes {
    what: Listing,
    found: Vec<Found>,
    /// Paths of the layer that are gone.
    deleted_of_image: Vec<PathBuf>,
    /// Files and directories of the host directory that are gone, with whether they are files.
    deleted_of_host: Vec<(PathBuf, bool)>,
}

impl Changes {
    /// Looks. `since` is when the files of the host had all been copied.
    pub(super) async fn look(
        handle: &Arc<Handle>,
        spec: &SandboxSpec,
        since: Option<i128>,
    ) -> Result<Self, SandboxError> {
        let below = below(spec, since)?;
        let mut what = Listing { directories: vec![WORKSPACE.into()], paths: Vec::new(), after: since };
        let mut deleted_of_image = Vec::new();
        if is_read_only(spec) {
            what.directories.push("/tmp".into());
        } else {
            (what.paths, deleted_of_image) = of_layer(handle, spec).await?;
        }
        let found = list(handle, what.clone()).await?;
        let deleted_of_host = match below {
            None => Vec::new(),
            Some(directory) => deleted(directory, &found)?,
        };
        Ok(Self { what, found, deleted_of_image, deleted_of_host })
    }

    /// As users understand it: files.
    pub(super) fn files(&self) -> FileChanges {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let written = self.found.iter().filter(|one| one.is_written && !one.is_directory);
        let written: BTreeSet<String> = written.map(|one| text(Path::new(&one.path))).collect();
        let deleted_files = self.deleted_of_host.iter().filter(|(_, is_file)| *is_file).map(|(path, _)| path);
        let deleted: BTreeSet<String> =
            deleted_files.chain(&self.deleted_of_image).map(|path| text(path)).collect();
        FileChanges { written: written.into_iter().collect(), deleted: deleted.into_iter().collect() }
    }

    /// Copies what was written.
    pub(super) async fn snapshot(
        self,
        handle: &Arc<Handle>,
        spec: &SandboxSpec,
    ) -> Result<Snapshot, SandboxError> {
        let file = tempfile::Builder::new().prefix("menace-snapshot-").suffix(".tar").tempfile();
        let (file, path) = file.map_err(SandboxError::io("make a file for a snapshot"))?.into_parts();
        let mut file = Blocking(file);
        let order = Order::PackWritten(self.what.clone());
        pack(handle, &order, Path::new("/"), &mut file).await?;
        let changes = self.files();
        let removed = self.deleted_of_host.into_iter().map(|(path, _)| path).chain(self.deleted_of_image);
        Ok(Snapshot { spec: spec.clone(), changes, removed: removed.collect(), archive: Arc::new(path) })
    }
}

/// The host directory that is below the workspace, if there is one and it is known when it was copied.
fn below(spec: &SandboxSpec, since: Option<i128>) -> Result<Option<&Path>, SandboxError> {
    match &spec.workspace {
        Workspace::Empty => Ok(None),
        Workspace::CopyOnWrite(directory) if since.is_some() => Ok(Some(directory)),
        Workspace::CopyOnWrite(_) => Err(SandboxError::Refused {
            problem:
                "nobody knows when the files of this sandbox were copied, so nobody knows what changed since"
                    .into(),
            hint: "make it again".into(),
        }),
        Workspace::ReadWrite(_) => Err(SandboxError::Refused {
            problem: "a sandbox that writes to the host directory itself does not know what it changed"
                .into(),
            hint: "use a copy-on-write workspace".into(),
        }),
    }
}

/// What was written to the container's layer, and what was deleted there.
async fn of_layer(handle: &Handle, spec: &SandboxSpec) -> Result<(Vec<PathBuf>, Vec<PathBuf>), SandboxError> {
    handle.check_alive()?;
    let found = handle.engine.docker.container_changes(&handle.container).await;
    let found = match found {
        Ok(found) => found.unwrap_or_default(),
        Err(error) => return Err(handle.failed("ask what was written in a container", error).await),
    };
    let is_the_users = |path: &Path| {
        let targets = spec.mounts.iter().map(|mount| mount.target.as_path());
        let accounts: &[&str] = if spec.user.uid == 0 { &[] } else { &ACCOUNTS };
        let engines = NOT_THE_USERS.iter().chain(accounts).map(Path::new);
        let mut others = engines.chain([Path::new(WORKSPACE)]).chain(targets);
        !others.any(|other| path.starts_with(other))
    };
    let (mut written, mut deleted) = (Vec::new(), Vec::new());
    for change in found {
        let path = PathBuf::from(change.path);
        if !is_the_users(&path) {
            continue;
        }
        match change.kind {
            ChangeType::_2 => deleted.push(path),
            _ => written.push(path),
        }
    }
    Ok((written, deleted))
}

/// What of the host directory is not in the workspace any more, or is something else there.
fn deleted(directory: &Path, found: &[Found]) -> Result<Vec<(PathBuf, bool)>, SandboxError> {
    let there: BTreeSet<(&Path, bool)> =
        found.iter().map(|one| (Path::new(&one.path), one.is_directory)).collect();
    let of_host = host_files::below(directory)?;
    let inside = of_host.iter().map(|(path, metadata)| (Path::new(WORKSPACE).join(path), metadata.is_dir()));
    let gone = inside.filter(|(path, is_directory)| !there.contains(&(path.as_path(), *is_directory)));
    Ok(gone.map(|(path, is_directory)| (path, !is_directory)).collect())
}
