//! File transfer in and out of a native sandbox: archives, changed files, snapshots.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use menace_guest::ReportedFailure;
use menace_model::sandbox::{FileChanges, FileEntry, FileEvent, FileOperation, WORKSPACE, WorkspaceContent};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::unix::pipe;

use super::init::WrittenLayer;
use super::init_channel::JobAnswers;
use super::pipes::{new_pipe, receiver, sender};
use super::process::inside;
use super::protocol::{InitFileWork, InitReport, InitRequest, JobEnd};
use super::sandbox::NativeSandbox;
use crate::{SandboxError, SandboxFileWatch, SandboxSnapshot};

/// Maximum size of a listing: a program can create as many names as its disk holds, and the listing is held in memory.
const LONGEST_LISTING: u64 = 64 << 20;

impl NativeSandbox {
    pub(super) async fn unpack(
        &self,
        directory: &Path,
        archive: &mut (dyn AsyncRead + Send + Unpin),
    ) -> Result<(), SandboxError> {
        let (theirs, ours) = new_pipe()?;
        let mut ours = sender(ours)?;
        let work = InitFileWork::Unpack { directory: directory.to_owned() };
        let answers = self.send_request(|job| InitRequest::Work { job, work }, &[theirs]).await?;
        // A child that rejects an entry stops reading; its answer holds the reason.
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
        let (ours, theirs) = new_pipe()?;
        let mut ours = receiver(ours)?;
        let work = InitFileWork::Pack { path: path.to_owned() };
        let answers = self.send_request(|job| InitRequest::Work { job, work }, &[theirs]).await?;
        tokio::io::copy(&mut ours, archive).await.map_err(SandboxError::io("write an archive"))?;
        self.finish(answers, "pack", path).await
    }

    pub(super) async fn list_changes(&self) -> Result<FileChanges, SandboxError> {
        let layer = self.list_layer().await?;
        Ok(changes(&layer, self.spec.workspace.directory().map(PathBuf::as_path)))
    }

    async fn list_layer(&self) -> Result<WrittenLayer, SandboxError> {
        if let WorkspaceContent::ReadWrite(_) = &self.spec.workspace {
            return Err(SandboxError::Refused {
                problem: "changes are unknown in a sandbox that writes directly to the host directory".into(),
                hint: "use a copy-on-write workspace".into(),
            });
        }
        let (ours, theirs) = new_pipe()?;
        let mut ours = receiver(ours)?;
        let answers = self
            .send_request(|job| InitRequest::Work { job, work: InitFileWork::ListLayer }, &[theirs])
            .await?;
        let mut listing = Vec::new();
        let read = (&mut ours).take(LONGEST_LISTING + 1).read_to_end(&mut listing).await;
        read.map_err(SandboxError::io("list changes"))?;
        if listing.len() as u64 > LONGEST_LISTING {
            return Err(inside("list the changes in", Path::new("/"), listing_too_long()));
        }
        self.finish(answers, "list the changes in", Path::new("/")).await?;
        postcard::from_bytes(&listing).map_err(|error| {
            SandboxError::Protocol(format!("invalid list of changes from the sandbox: {error}"))
        })
    }

    pub(super) async fn take_snapshot(&self) -> Result<SandboxSnapshot, SandboxError> {
        let layer = self.list_layer().await?;
        let changes = changes(&layer, self.spec.workspace.directory().map(PathBuf::as_path));
        let removed = layer.hidden.into_iter().chain(layer.opaque).map(PathBuf::from).collect();
        let file = tempfile::Builder::new()
            .prefix("snapshot-")
            .suffix(".tar")
            .tempfile_in(self.shared.registration.directory())
            .map_err(SandboxError::io("create a snapshot file"))?;
        let (file, path) = file.into_parts();
        let answers = self
            .send_request(
                |job| InitRequest::Work { job, work: InitFileWork::PackLayer },
                &[OwnedFd::from(file)],
            )
            .await?;
        self.finish(answers, "pack the changes in", Path::new("/")).await?;
        Ok(SandboxSnapshot { spec: self.spec.clone(), changes, removed, archive: Arc::new(path) })
    }

    pub(super) async fn restore(&self, snapshot: &SandboxSnapshot) -> Result<(), SandboxError> {
        let paths = snapshot.removed.iter().map(OsString::from).collect();
        // The pipe is not used, but a work request always carries one.
        let (_ours, theirs) = new_pipe()?;
        let answers = self
            .send_request(|job| InitRequest::Work { job, work: InitFileWork::Remove { paths } }, &[theirs])
            .await?;
        self.finish(answers, "remove files in", Path::new(WORKSPACE)).await?;
        let file = fs::File::open(&*snapshot.archive).map_err(SandboxError::io("open a snapshot"))?;
        let work = InitFileWork::Unpack { directory: "/".into() };
        let answers =
            self.send_request(|job| InitRequest::Work { job, work }, &[OwnedFd::from(file)]).await?;
        self.finish(answers, "unpack a snapshot into", Path::new("/")).await
    }

    /// Performs a file operation that a user requested.
    pub(super) async fn file_work(&self, work: FileOperation) -> Result<Vec<FileEntry>, SandboxError> {
        self.check_alive()?;
        let (action, path) = (work.action(), work.path().clone());
        let (ours, theirs) = new_pipe()?;
        let mut ours = receiver(ours)?;
        let answers = self
            .send_request(|job| InitRequest::Work { job, work: InitFileWork::Files(work) }, &[theirs])
            .await?;
        let mut answer = Vec::new();
        let read = (&mut ours).take(LONGEST_LISTING + 1).read_to_end(&mut answer).await;
        read.map_err(SandboxError::io("read the result of a file operation"))?;
        if answer.len() as u64 > LONGEST_LISTING {
            return Err(inside(action, &path, listing_too_long()));
        }
        self.finish(answers, action, &path).await?;
        postcard::from_bytes(&answer).map_err(|error| {
            SandboxError::Protocol(format!("invalid file entries from the sandbox: {error}"))
        })
    }

    /// Watches files. The watch is active when this returns.
    pub(super) async fn watch_files(&self, path: &Path) -> Result<NativeFileWatch, SandboxError> {
        self.check_alive()?;
        let (ours, theirs) = new_pipe()?;
        let mut watching = NativeFileWatch { events: receiver(ours)? };
        let work = InitFileWork::Watch { path: path.to_owned() };
        let answers = self.send_request(|job| InitRequest::Work { job, work }, &[theirs]).await?;
        if watching.next_event().await.is_some() {
            return Ok(watching);
        }
        self.finish(answers, "watch", path).await?;
        Err(self.gone())
    }

    async fn finish(
        &self,
        mut answers: JobAnswers,
        action: &'static str,
        path: &Path,
    ) -> Result<(), SandboxError> {
        match answers.next().await {
            Some(InitReport::Ended { end: JobEnd { exit_code: Some(0), .. }, .. }) => Ok(()),
            Some(InitReport::Ended { end, .. }) => {
                let error = end.failure.map_or_else(
                    || io::Error::new(io::ErrorKind::BrokenPipe, "the worker process was killed"),
                    ReportedFailure::into_error,
                );
                Err(inside(action, path, error))
            }
            Some(InitReport::NotStarted { errno, .. }) => {
                Err(inside(action, path, io::Error::from_raw_os_error(errno)))
            }
            _ => Err(self.gone()),
        }
    }
}

fn listing_too_long() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("the listing exceeds {} MiB", LONGEST_LISTING >> 20))
}

/// Watch on files of a sandbox, made by a child process inside it until this is dropped.
pub(super) struct NativeFileWatch {
    events: pipe::Receiver,
}

impl NativeFileWatch {
    async fn next_event(&mut self) -> Option<FileEvent> {
        let length = self.events.read_u32_le().await.ok()?;
        let mut body = vec![0; usize::try_from(length).ok()?];
        self.events.read_exact(&mut body).await.ok()?;
        postcard::from_bytes(&body).ok()
    }
}

#[async_trait]
impl SandboxFileWatch for NativeFileWatch {
    async fn next(&mut self) -> Option<FileEvent> {
        self.next_event().await
    }
}

/// Changes as a user sees them: the overlay layer compared with the directory below it.
fn changes(layer: &WrittenLayer, below: Option<&Path>) -> FileChanges {
    let text = |path: &OsStr| path.to_string_lossy().into_owned();
    let written: BTreeSet<String> = layer.written.iter().map(|path| text(path)).collect();
    let mut deleted = BTreeSet::new();
    for path in layer.hidden.iter().chain(&layer.opaque) {
        let path = Path::new(path);
        if let Some((below, relative)) = below.zip(path.strip_prefix(WORKSPACE).ok()) {
            let files = files_below(&below.join(relative), path);
            deleted.extend(
                files.iter().map(|file| text(file.as_os_str())).filter(|file| !written.contains(file)),
            );
        }
    }
    FileChanges { written: written.into_iter().collect(), deleted: deleted.into_iter().collect() }
}

/// Files of the host at or below a path, by their names inside the sandbox. A missing path yields none.
fn files_below(host: &Path, inside: &Path) -> Vec<PathBuf> {
    let Ok(metadata) = fs::symlink_metadata(host) else { return Vec::new() };
    if !metadata.is_dir() {
        return vec![inside.to_owned()];
    }
    let Ok(entries) = fs::read_dir(host) else { return Vec::new() };
    entries.flatten().flat_map(|entry| files_below(&entry.path(), &inside.join(entry.file_name()))).collect()
}
