//! Requests to the guest program: archives, file operations, and inspection.

use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use menace_guest::protocol::{
    GuestFrameKind, GuestInspection, GuestReply, GuestReport, GuestRequest, ListedFile, ListingRequest,
};
use menace_model::sandbox::{FileEntry, FileEvent, FileOperation};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::container_channel::{ContainerChannel, ContainerSender, parse, protocol_error};
use super::handle::ContainerHandle;
use crate::{SandboxError, SandboxFileWatch};

/// Bytes per message.
const CHUNK: usize = 64 << 10;

/// Size limit of a listing. A program can create as many names as its disk holds, and menace keeps them in memory.
const LONGEST_LISTING: usize = 64 << 20;

/// Unpacks an archive and returns the time of completion: any file changed after that time was changed after the
/// unpacking.
pub(super) async fn unpack(
    handle: &Arc<ContainerHandle>,
    directory: &Path,
    archive: &mut (dyn AsyncRead + Send + Unpin),
) -> Result<i128, SandboxError> {
    let order = GuestRequest::Unpack { directory: directory.to_owned() };
    let mut link = ContainerChannel::open(handle, &order).await?;
    let to = link.to.clone();
    let answer = answer(&mut link, "unpack an archive into", directory);
    let answer = tokio::select! {
        // The guest program rejects an entry before it has read the rest.
        answer = answer => answer?,
        sent = send(&to, archive) => {
            sent?;
            self::answer(&mut link, "unpack an archive into", directory).await?
        }
    };
    match answer {
        GuestReply::Unpacked { at } => Ok(at),
        other => Err(protocol_error(&format!("{other:?} after an archive"))),
    }
}

async fn send(
    to: &ContainerSender,
    archive: &mut (dyn AsyncRead + Send + Unpin),
) -> Result<(), SandboxError> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = archive.read(&mut buffer).await.map_err(SandboxError::io("read an archive"))?;
        let (kind, bytes) = match length {
            0 => (GuestFrameKind::InputEnd, &[][..]),
            _ => (GuestFrameKind::Input, buffer.get(..length).unwrap_or_default()),
        };
        // A guest program that rejects an archive does not read the rest and reports the reason.
        if to.send(kind, bytes).await.is_err() || length == 0 {
            return Ok(());
        }
    }
}

/// Packs the files of an order into an archive.
pub(super) async fn pack(
    handle: &Arc<ContainerHandle>,
    order: &GuestRequest,
    path: &Path,
    archive: &mut (dyn AsyncWrite + Send + Unpin),
) -> Result<(), SandboxError> {
    let mut link = ContainerChannel::open(handle, order).await?;
    let mut bytes = Vec::new();
    loop {
        let report = link.report("pack", path, &mut bytes).await?;
        archive.write_all(&bytes).await.map_err(SandboxError::io("write an archive"))?;
        bytes.clear();
        match report {
            GuestReport::StillWorking => {}
            GuestReport::Done(_) => {
                return archive.flush().await.map_err(SandboxError::io("write an archive"));
            }
            other => return Err(protocol_error(&format!("{other:?} instead of an archive"))),
        }
    }
}

/// Sends an order that has a single answer.
pub(super) async fn send_order(
    handle: &Arc<ContainerHandle>,
    order: &GuestRequest,
    action: &'static str,
    path: &Path,
) -> Result<GuestReply, SandboxError> {
    answer(&mut ContainerChannel::open(handle, order).await?, action, path).await
}

async fn answer(
    link: &mut ContainerChannel,
    action: &'static str,
    path: &Path,
) -> Result<GuestReply, SandboxError> {
    loop {
        match link.report(action, path, &mut Vec::new()).await? {
            GuestReport::StillWorking => {}
            GuestReport::Done(answer) => return Ok(answer),
            other => return Err(protocol_error(&format!("{other:?} instead of an answer"))),
        }
    }
}

/// Performs a file operation of the caller.
pub(super) async fn files(
    handle: &Arc<ContainerHandle>,
    work: FileOperation,
) -> Result<Vec<FileEntry>, SandboxError> {
    let (action, path) = (work.action(), work.path().clone());
    match send_order(handle, &GuestRequest::Files(work), action, &path).await? {
        GuestReply::Files(entries) => Ok(entries),
        other => Err(protocol_error(&format!("{other:?} about files"))),
    }
}

/// State of the sandbox as its kernel interfaces report it.
pub(super) async fn inspect(handle: &Arc<ContainerHandle>) -> Result<GuestInspection, SandboxError> {
    match send_order(handle, &GuestRequest::Inspect, "inspect", Path::new("/")).await? {
        GuestReply::Inspected(inspection) => Ok(*inspection),
        other => Err(protocol_error(&format!("{other:?} about a sandbox"))),
    }
}

/// Lists files of a sandbox.
pub(super) async fn list(
    handle: &Arc<ContainerHandle>,
    listing: ListingRequest,
) -> Result<Vec<ListedFile>, SandboxError> {
    const ACTION: &str = "list the written files in";
    let mut link = ContainerChannel::open(handle, &GuestRequest::List(listing)).await?;
    let (mut found, mut length) = (Vec::new(), 0);
    loop {
        match link.report(ACTION, Path::new("/"), &mut Vec::new()).await? {
            GuestReport::Listed(more) => {
                length += more.iter().map(|one| one.path.len()).sum::<usize>();
                found.extend(more);
            }
            GuestReport::StillWorking => {}
            GuestReport::Done(_) => return Ok(found),
            other => return Err(protocol_error(&format!("{other:?} in a listing"))),
        }
        if length > LONGEST_LISTING {
            let problem = format!("the names alone are longer than {} MiB", LONGEST_LISTING >> 20);
            let source = io::Error::new(io::ErrorKind::FileTooLarge, problem);
            return Err(SandboxError::Inside { action: ACTION, path: "/".into(), source });
        }
    }
}

/// File watch by the guest program until this is dropped.
pub(super) struct DockerFileWatch(ContainerChannel);

/// Watches files. The watch is active when this returns.
pub(super) async fn watch(
    handle: &Arc<ContainerHandle>,
    path: &Path,
) -> Result<DockerFileWatch, SandboxError> {
    let order = GuestRequest::Watch { path: path.to_owned() };
    let mut link = ContainerChannel::open(handle, &order).await?;
    match link.report("watch", path, &mut Vec::new()).await? {
        GuestReport::Started => Ok(DockerFileWatch(link)),
        other => Err(protocol_error(&format!("{other:?} instead of watching"))),
    }
}

#[async_trait]
impl SandboxFileWatch for DockerFileWatch {
    async fn next(&mut self) -> Option<FileEvent> {
        match self.0.from.next().await {
            Ok(Some((GuestFrameKind::Report, body))) => match parse(&body) {
                Ok(GuestReport::Event(event)) => Some(event),
                _ => None,
            },
            _ => None,
        }
    }
}
