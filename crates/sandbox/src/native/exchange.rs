//! Files in and out of a native sandbox: archives, what changed, snapshots.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use menace_model::sandbox::{FileChanges, WORKSPACE, Workspace};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

use super::init::Layer;
use super::process::inside;
use super::protocol::{End, Report, Request, Work};
use super::sandbox::NativeSandbox;
use super::wire::Answers;
use crate::{SandboxError, Snapshot};

impl NativeSandbox {
    pub(super) async fn unpack(
        &self,
        directory: &Path,
        archive: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<(), SandboxError> {
        let (theirs, ours) = pipe_pair()?;
        let mut ours = sender(ours)?;
        let work = Work::Unpack { directory: directory.to_owned() };
        let answers = self.ask(|job| Request::Work { job, work }, &[theirs]).await?;
        // A child that refuses an entry stops reading; why it did is in its answer.
        let copied = tokio::io::copy(archive, &mut ours).await;
        drop(ours);
        self.finish(answers, "unpack an archive into", directory).await?;
        copied.map(drop).map_err(SandboxError::io("read an archive"))
    }

    pub(super) async fn pack(
        &self,
        path: &Path,
        archive: &mut (dyn AsyncWrite + Send + Unpin),
    ) -> Result<(), SandboxError> {
        let (ours, theirs) = pipe_pair()?;
        let mut ours = receiver(ours)?;
        let work = Work::Pack { path: path.to_owned() };
        let answers = self.ask(|job| Request::Work { job, work }, &[theirs]).await?;
        tokio::io::copy(&mut ours, archive).await.map_err(SandboxError::io("write an archive"))?;
        self.finish(answers, "pack", path).await
    }

    pub(super) async fn list_changes(&self) -> Result<FileChanges, SandboxError> {
        if let Workspace::ReadWrite(_) = &self.spec.workspace {
            return Err(SandboxError::Refused {
                problem: "a sandbox that writes to the host directory itself does not know what it changed".into(),
                hint: "use a copy-on-write workspace".into(),
            });
        }
        let (ours, theirs) = pipe_pair()?;
        let mut ours = receiver(ours)?;
        let answers = self.ask(|job| Request::Work { job, work: Work::ListLayer }, &[theirs]).await?;
        let mut text = Vec::new();
        tokio::io::copy(&mut ours, &mut text).await.map_err(SandboxError::io("list changes"))?;
        self.finish(answers, "list what was written in", Path::new("/")).await?;
        let layer: Layer = serde_json::from_slice(&text)
            .map_err(|error| SandboxError::Protocol(format!("a sandbox listed its changes wrongly: {error}")))?;
        Ok(changes(&layer, self.spec.workspace.directory().map(PathBuf::as_path)))
    }

    pub(super) async fn take_snapshot(&self) -> Result<Snapshot, SandboxError> {
        let changes = self.list_changes().await?;
        let file = tempfile::Builder::new()
            .prefix("snapshot-")
            .suffix(".tar")
            .tempfile_in(self.shared.registration.directory())
            .map_err(SandboxError::io("make a file for a snapshot"))?;
        let (file, path) = file.into_parts();
        let answers = self
            .ask(|job| Request::Work { job, work: Work::PackLayer }, &[OwnedFd::from(file)])
            .await?;
        self.finish(answers, "pack what was written in", Path::new("/")).await?;
        Ok(Snapshot { spec: self.spec.clone(), changes, archive: Arc::new(path) })
    }

    pub(super) async fn restore(&self, snapshot: &Snapshot) -> Result<(), SandboxError> {
        let paths = snapshot.changes.deleted.iter().map(PathBuf::from).collect();
        // The archive is not used, but work always comes with one.
        let (_ours, theirs) = pipe_pair()?;
        let answers =
            self.ask(|job| Request::Work { job, work: Work::Remove { paths } }, &[theirs]).await?;
        self.finish(answers, "remove files in", Path::new(WORKSPACE)).await?;
        let file = fs::File::open(&*snapshot.archive).map_err(SandboxError::io("open a snapshot"))?;
        let work = Work::Unpack { directory: "/".into() };
        let answers = self.ask(|job| Request::Work { job, work }, &[OwnedFd::from(file)]).await?;
        self.finish(answers, "unpack a snapshot into", Path::new("/")).await
    }

    async fn finish(
        &self,
        mut answers: Answers,
        action: &'static str,
        path: &Path,
    ) -> Result<(), SandboxError> {
        match answers.next().await {
            Some(Report::Ended { end: End { exit_code: Some(0), .. }, .. }) => Ok(()),
            Some(Report::Ended { end, .. }) => {
                let reason = end.problem.unwrap_or_else(|| "the process that did it was killed".into());
                Err(inside(action, path, reason))
            }
            Some(Report::NotStarted { errno, .. }) => {
                Err(inside(action, path, std::io::Error::from_raw_os_error(errno).to_string()))
            }
            _ => Err(self.gone()),
        }
    }
}

/// What a user understands by changed: the layer compared with the directory below.
fn changes(layer: &Layer, below: Option<&Path>) -> FileChanges {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    let written: BTreeSet<String> = layer.written.iter().map(text).collect();
    let mut deleted: BTreeSet<String> = layer.hidden.iter().map(text).collect();
    for directory in &layer.opaque {
        let Some(hidden) = below.zip(directory.strip_prefix(WORKSPACE).ok()) else { continue };
        for name in names_below(&hidden.0.join(hidden.1)) {
            let path = directory.join(name);
            let is_there = layer.written.iter().any(|written| written.starts_with(&path));
            if !is_there {
                deleted.insert(text(&path));
            }
        }
    }
    FileChanges { written: written.into_iter().collect(), deleted: deleted.into_iter().collect() }
}

/// Names in a host directory; one that is gone or was never there hides nothing.
fn names_below(directory: &Path) -> Vec<std::ffi::OsString> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
}

fn pipe_pair() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|error| SandboxError::io("open a pipe")(error.into()))
}

fn sender(end: OwnedFd) -> Result<pipe::Sender, SandboxError> {
    nonblocking(&end)?;
    pipe::Sender::from_owned_fd_unchecked(end).map_err(SandboxError::io("watch a pipe"))
}

fn receiver(end: OwnedFd) -> Result<pipe::Receiver, SandboxError> {
    nonblocking(&end)?;
    pipe::Receiver::from_owned_fd_unchecked(end).map_err(SandboxError::io("watch a pipe"))
}

fn nonblocking(end: &OwnedFd) -> Result<(), SandboxError> {
    rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK)
        .map_err(|error| SandboxError::io("prepare a pipe")(error.into()))
}
