//! Requests to the guest program: archives, file operations, and inspection.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use menace_guest::protocol::{Answer, Found, Inspection, Kind, Listing, Order, Report};
use menace_model::sandbox::{FileEntry, FileEvent, FileWork};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::handle::Handle;
use super::link::{Link, ToInside, parse, wrong};
use crate::{SandboxError, Watch};

/// Bytes per message.
const CHUNK: usize = 64 << 10;

/// Size limit of a listing. A program can create as many names as its disk holds, and menace keeps them in memory.
const LONGEST_LISTING: usize = 64 << 20;

/// Unpacks an archive and returns the time of completion: any file changed after that time was changed after the
/// unpacking.
pub(super) async fn unpack(
    handle: &Arc<Handle>,
    directory: &Path,
    archive: &mut (dyn AsyncRead + Send + Unpin),
) -> Result<i128, SandboxError> {
    let order = Order::Unpack { directory: directory.to_owned() };
    let mut link = Link::open(handle, &order).await?;
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
        Answer::Unpacked { at } => Ok(at),
        other => Err(wrong(&format!("{other:?} after an archive"))),
    }
}

async fn send(to: &ToInside, archive: &mut (dyn AsyncRead + Send + Unpin)) -> Result<(), SandboxError> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = archive.read(&mut buffer).await.map_err(SandboxError::io("read an archive"))?;
        let (kind, bytes) = match length {
            0 => (Kind::InputEnd, &[][..]),
            _ => (Kind::Input, buffer.get(..length).unwrap_or_default()),
        };
        // A guest program that rejects an archive does not read the rest and reports the reason.
        if to.send(kind, bytes).await.is_err() || length == 0 {
            return Ok(());
        }
    }
}

/// Packs the files of an order into an archive.
pub(super) async fn pack(
    handle: &Arc<Handle>,
    order: &Order,
    path: &Path,
    archive: &mut (dyn AsyncWrite + Send + Unpin),
) -> Result<(), SandboxError> {
    let mut link = Link::open(handle, order).await?;
    let mut bytes = Vec::new();
    loop {
        let report = link.report("pack", path, &mut bytes).await?;
        archive.write_all(&bytes).await.map_err(SandboxError::io("write an archive"))?;
        bytes.clear();
        match report {
            Report::StillWorking => {}
            Report::Done(_) => return archive.flush().await.map_err(SandboxError::io("write an archive")),
            other => return Err(wrong(&format!("{other:?} instead of an archive"))),
        }
    }
}

/// Sends an order that has a single answer.
pub(super) async fn ask(
    handle: &Arc<Handle>,
    order: &Order,
    action: &'static str,
    path: &Path,
) -> Result<Answer, SandboxError> {
    answer(&mut Link::open(handle, order).await?, action, path).await
}

async fn answer(link: &mut Link, action: &'static str, path: &Path) -> Result<Answer, SandboxError> {
    loop {
        match link.report(action, path, &mut Vec::new()).await? {
            Report::StillWorking => {}
            Report::Done(answer) => return Ok(answer),
            other => return Err(wrong(&format!("{other:?} instead of an answer"))),
        }
    }
}

/// Performs a file operation of the caller.
pub(super) async fn files(handle: &Arc<Handle>, work: FileWork) -> Result<Vec<FileEntry>, SandboxError> {
    let (action, path) = (work.action(), work.path().clone());
    match ask(handle, &Order::Files(work), action, &path).await? {
        Answer::Files(entries) => Ok(entries),
        other => Err(wrong(&format!("{other:?} about files"))),
    }
}

/// State of the sandbox as its kernel interfaces report it.
pub(super) async fn inspect(handle: &Arc<Handle>) -> Result<Inspection, SandboxError> {
    match ask(handle, &Order::Inspect, "inspect", Path::new("/")).await? {
        Answer::Inspected(inspection) => Ok(*inspection),
        other => Err(wrong(&format!("{other:?} about a sandbox"))),
    }
}

/// Lists files of a sandbox.
pub(super) async fn list(handle: &Arc<Handle>, listing: Listing) -> Result<Vec<Found>, SandboxError> {
    const ACTION: &str = "list the written files in";
    let mut link = Link::open(handle, &Order::List(listing)).await?;
    let (mut found, mut length) = (Vec::new(), 0);
    loop {
        match link.report(ACTION, Path::new("/"), &mut Vec::new()).await? {
            Report::Listed(more) => {
                length += more.iter().map(|one| one.path.len()).sum::<usize>();
                found.extend(more);
            }
            Report::StillWorking => {}
            Report::Done(_) => return Ok(found),
            other => return Err(wrong(&format!("{other:?} in a listing"))),
        }
        if length > LONGEST_LISTING {
            let reason = format!("the names alone are longer than {} MiB", LONGEST_LISTING >> 20);
            return Err(SandboxError::Inside { action: ACTION, path: "/".into(), reason });
        }
    }
}

/// File watch by the guest program until this is dropped.
pub(super) struct Watching(Link);

/// Watches files. The watch is active when this returns.
pub(super) async fn watch(handle: &Arc<Handle>, path: &Path) -> Result<Watching, SandboxError> {
    let order = Order::Watch { path: path.to_owned() };
    let mut link = Link::open(handle, &order).await?;
    match link.report("watch", path, &mut Vec::new()).await? {
        Report::Started => Ok(Watching(link)),
        other => Err(wrong(&format!("{other:?} instead of watching"))),
    }
}

#[async_trait]
impl Watch for Watching {
    async fn next(&mut self) -> Option<FileEvent> {
        match self.0.from.next().await {
            Ok(Some((Kind::Report, body))) => match parse(&body) {
                Ok(Report::Event(event)) => Some(event),
                _ => None,
            },
            _ => None,
        }
    }
}
