//! Files in and out of sandboxes.

use std::convert::Infallible;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::body::Body as HttpBody;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use menace_model::sandbox::{FileEntry, FileKind, FileWork};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use utoipa::{IntoParams, ToSchema};

use super::Shared;
use super::archive::{Content, Reader, of_file, reader, split};
use super::caller::{Asked, Body, Named, RawBytes};
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{Caller, Entry};

/// How much is on its way from a sandbox to a caller.
const PIPE: usize = 256 << 10;
/// How long the first block of an archive is.
const BLOCK: usize = 512;

/// A file, directory or something else inside.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FileView {
    /// The last part of its path.
    name: String,
    /// The whole path.
    path: String,
    /// `file`, `directory`, `link` or `other`.
    kind: String,
    /// Its length in bytes.
    size: u64,
    /// Who may do what with it, as in `0644`.
    mode: String,
    /// When it was changed.
    modified_at: String,
    /// Where a link leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

/// What is in a directory.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Listing {
    /// The directory.
    path: String,
    /// What is in it, sorted by name.
    entries: Vec<FileView>,
}

/// What JSON says about a path.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Told {
    /// What is in a directory.
    Listing(Listing),
    /// What something is.
    File(FileView),
}

impl FileView {
    fn of(entry: FileEntry, path: &Path) -> Self {
        let kind = match entry.kind {
            FileKind::File => "file",
            FileKind::Directory => "directory",
            FileKind::Link => "link",
            FileKind::Other => "other",
        };
        Self {
            name: entry.name,
            path: path.display().to_string(),
            kind: kind.to_owned(),
            size: entry.size,
            mode: format!("{:04o}", entry.mode),
            modified_at: crate::clock::text(entry.modified.saturating_mul(1000)),
            target: entry.target,
        }
    }
}

/// An absolute path without `..`: what it means does not depend on links that a program made.
fn inside(path: &str) -> Result<PathBuf, ApiError> {
    let path = Path::new("/").join(path);
    let is_plain = |part: Component| matches!(part, Component::RootDir | Component::Normal(_));
    if path.as_os_str().as_encoded_bytes().contains(&0) || !path.components().all(is_plain) {
        return Err(ApiError::invalid(format!("{}: a path has no .. and no zero byte", path.display())));
    }
    Ok(path)
}

fn prepared(
    sandboxes: &Shared,
    caller: &Caller,
    id: &str,
    path: &str,
) -> Result<(Arc<Entry>, PathBuf), ApiError> {
    let entry = sandboxes.find(caller, id)?;
    entry.check_not_paused()?;
    Ok((entry, inside(path)?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct HowToGet {
    /// `content` is what a file has, or what is in a directory; `stat` what it is; `tar` an archive of it.
    #[serde(rename = "as")]
    #[param(rename = "as")]
    form: Option<GetForm>,
}

/// What is wanted of a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum GetForm {
    #[default]
    Content,
    Stat,
    Tar,
}

/// Read a file, list a directory, or take either away as an archive
#[utoipa::path(get, path = "/api/sandboxes/{id}/files/{*path}", tag = "files",
    params(("id" = String, Path), ("path" = String, Path, description = "Where it is inside, without the first slash."), HowToGet),
    responses(
        (status = 200, description = "The bytes of a file, or JSON.",
            content((RawBytes = "application/octet-stream"), (Told = "application/json"), (RawBytes = "application/x-tar"))),
        (status = 403, description = "It may not be read.", body = ErrorBody),
        (status = 404, description = "There is no such sandbox or file.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox is gone.", body = ErrorBody),
        (status = 422, description = "No such path.", body = ErrorBody)))]
pub(super) async fn get(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named((id, path)): Named<(String, String)>,
    Asked(how): Asked<HowToGet>,
) -> Result<Response, ApiError> {
    let (entry, path) = prepared(&sandboxes, &caller, &id, &path)?;
    let _used = entry.used();
    let looked = look(&entry, &path).await?;
    match (how.form.unwrap_or_default(), looked.kind) {
        (GetForm::Stat, _) => Ok(Json(Told::File(FileView::of(looked, &path))).into_response()),
        (GetForm::Tar, _) => archived(&entry, path).await,
        (GetForm::Content, FileKind::Directory) => {
            let entries = entry.sandbox.files(FileWork::List(path.clone())).await?;
            let entries = entries
                .into_iter()
                .map(|one| {
                    let below = path.join(&one.name);
                    FileView::of(one, &below)
                })
                .collect();
            Ok(Json(Told::Listing(Listing { path: path.display().to_string(), entries })).into_response())
        }
        (GetForm::Content, FileKind::File) => content(&entry, path, looked.size).await,
        (GetForm::Content, FileKind::Link | FileKind::Other) => {
            Err(ApiError::invalid(format!("{} is no file", path.display()))
                .hint("?as=stat says what it is, and where a link leads"))
        }
    }
}

async fn look(entry: &Entry, path: &Path) -> Result<FileEntry, ApiError> {
    let looked = entry.sandbox.files(FileWork::Look(path.to_owned())).await?;
    looked.into_iter().next().ok_or_else(|| ApiError::internal("a sandbox did not answer"))
}

/// An archive of a path that has begun: its first block, and where the rest comes from. What cannot be packed is said here,
/// before anything is answered.
async fn packed(entry: &Arc<Entry>, path: PathBuf) -> Result<(Vec<u8>, DuplexStream), ApiError> {
    let (mut from, mut archive) = duplex(PIPE);
    let packing = Arc::clone(entry);
    let packing = tokio::spawn(async move {
        let _used = packing.used();
        let packed = packing.sandbox.get(&path, &mut archive).await;
        drop(archive.shutdown().await);
        packed.inspect_err(|error| tracing::debug!("{} was not packed to its end: {error}", path.display()))
    });
    let mut first = vec![0; BLOCK];
    // What could not be begun is an archive all the same, of nothing: zeros.
    let has_begun = from.read_exact(&mut first).await.is_ok() && first.iter().any(|byte| *byte != 0);
    if has_begun {
        return Ok((first, from));
    }
    match packing.await {
        Ok(Err(error)) => Err(error.into()),
        Ok(Ok(())) => Err(ApiError::internal("a sandbox packed nothing")),
        Err(error) => Err(ApiError::internal(format!("packing did not end: {error}"))),
    }
}

/// What a file has, as it comes.
async fn content(entry: &Arc<Entry>, path: PathBuf, size: u64) -> Result<Response, ApiError> {
    let (first, from) = packed(entry, path).await?;
    let (ours, theirs) = duplex(PIPE);
    tokio::spawn(unpacked(first, from, theirs));
    let body = HttpBody::from_stream(tokio_util::io::ReaderStream::new(ours));
    // A file that gets shorter while it is read ends the connection, so that nobody takes it for whole.
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, size.to_string()),
    ];
    Ok((headers, body).into_response())
}

async fn unpacked(first: Vec<u8>, mut archive: DuplexStream, to: DuplexStream) {
    let mut content = Content::new(to);
    let mut taken = content.take(&first).await;
    let mut buffer = vec![0; 64 << 10];
    while let (Ok(()), Ok(length @ 1..)) = (&taken, archive.read(&mut buffer).await) {
        taken = content.take(buffer.get(..length).unwrap_or_default()).await;
    }
}

async fn archived(entry: &Arc<Entry>, path: PathBuf) -> Result<Response, ApiError> {
    let (first, rest) = packed(entry, path).await?;
    let whole = std::io::Cursor::new(first).chain(rest);
    let body = HttpBody::from_stream(tokio_util::io::ReaderStream::new(whole));
    Ok(([(header::CONTENT_TYPE, "application/x-tar")], body).into_response())
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct HowToPut {
    /// `content` writes a file; `tar` unpacks an archive into a directory; `directory` makes one.
    #[serde(rename = "as")]
    #[param(rename = "as")]
    form: Option<PutForm>,
    /// Who may do what with the file, as in `0755`.
    #[param(pattern = "^0?[0-7]{3}$")]
    mode: Option<String>,
}

/// What is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum PutForm {
    #[default]
    Content,
    Tar,
    Directory,
}

/// Write a file, unpack an archive, or make a directory
#[utoipa::path(put, path = "/api/sandboxes/{id}/files/{*path}", tag = "files",
    params(("id" = String, Path), ("path" = String, Path, description = "Where it goes inside, without the first slash."), HowToPut),
    request_body(content = Option<RawBytes>, content_type = "application/octet-stream"),
    responses((status = 204, description = "It is there."),
        (status = 403, description = "It may not be written.", body = ErrorBody),
        (status = 404, description = "There is no such sandbox.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox is gone.", body = ErrorBody),
        (status = 411, description = "Nobody says how long it is.", body = ErrorBody),
        (status = 413, description = "It is larger than the disk of the sandbox.", body = ErrorBody),
        (status = 422, description = "No such path or mode, or an archive that leaves its directory.", body = ErrorBody),
        (status = 507, description = "The disk of the sandbox is full.", body = ErrorBody)))]
pub(super) async fn put(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named((id, path)): Named<(String, String)>,
    Asked(how): Asked<HowToPut>,
    headers: HeaderMap,
    body: HttpBody,
) -> Result<StatusCode, ApiError> {
    let (entry, path) = prepared(&sandboxes, &caller, &id, &path)?;
    let _used = entry.used();
    match how.form.unwrap_or_default() {
        PutForm::Directory => {
            entry.sandbox.files(FileWork::MakeDirectory(path)).await?;
        }
        PutForm::Tar => entry.sandbox.put(&path, &mut reader(body)).await?,
        PutForm::Content => {
            let mode = mode(how.mode.as_deref())?;
            let length = length(&headers, &entry)?;
            let (directory, name) = split(&path)?;
            let mut archive: Reader = of_file(name, length, mode, entry.spec.user, reader(body))?;
            entry.sandbox.put(directory, &mut archive).await?;
        }
    }
    Ok(StatusCode::NO_CONTENT)
}

fn mode(text: Option<&str>) -> Result<u32, ApiError> {
    let Some(text) = text else { return Ok(0o644) };
    let is_mode = text.len() == 3 || (text.len() == 4 && text.starts_with('0'));
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| is_mode && *mode <= 0o777 && !text.starts_with('+'))
        .ok_or_else(|| ApiError::invalid("mode: three octal digits such as 755"))
}

/// How long a file is that is sent. What cannot fit is not even read.
fn length(headers: &HeaderMap, entry: &Entry) -> Result<u64, ApiError> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let length: u64 = length.ok_or_else(|| {
        ApiError::new(StatusCode::LENGTH_REQUIRED, "length_required", "nobody says how long the file is")
            .hint("send Content-Length, or the file in an archive with ?as=tar")
    })?;
    let disk = entry.spec.limits.effective_disk();
    if length > disk {
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("{length} bytes do not fit on a disk of {disk}"),
        ));
    }
    Ok(length)
}

/// Something to be done with a file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeFile {
    /// Its new path.
    #[schema(example = "/workspace/new.txt")]
    move_to: String,
}

/// Move a file or directory
#[utoipa::path(patch, path = "/api/sandboxes/{id}/files/{*path}", tag = "files",
    params(("id" = String, Path), ("path" = String, Path)), request_body = ChangeFile,
    responses((status = 204, description = "It has its new path."),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 403, description = "It may not be moved.", body = ErrorBody),
        (status = 404, description = "There is no such sandbox or file.", body = ErrorBody),
        (status = 409, description = "Something is there already, or the sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox is gone.", body = ErrorBody),
        (status = 415, description = "The body is not said to be JSON.", body = ErrorBody),
        (status = 422, description = "No such path.", body = ErrorBody),
        (status = 507, description = "The disk of the sandbox is full.", body = ErrorBody)))]
pub(super) async fn change(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named((id, path)): Named<(String, String)>,
    Body(change): Body<ChangeFile>,
) -> Result<StatusCode, ApiError> {
    let (entry, from) = prepared(&sandboxes, &caller, &id, &path)?;
    let _used = entry.used();
    entry.sandbox.files(FileWork::Rename { from, to: inside(&change.move_to)? }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a file, or a directory with all that is in it
#[utoipa::path(delete, path = "/api/sandboxes/{id}/files/{*path}", tag = "files",
    params(("id" = String, Path), ("path" = String, Path)),
    responses((status = 204, description = "It is gone."),
        (status = 403, description = "It may not be removed.", body = ErrorBody),
        (status = 404, description = "There is no such sandbox or file.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox is gone.", body = ErrorBody),
        (status = 422, description = "No such path.", body = ErrorBody)))]
pub(super) async fn remove(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named((id, path)): Named<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let (entry, path) = prepared(&sandboxes, &caller, &id, &path)?;
    let _used = entry.used();
    entry.sandbox.files(FileWork::Remove(path)).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WhatToWatch {
    /// A file or directory; `/workspace` without this.
    path: Option<String>,
}

/// Hear what happens to files, as server-sent events
///
/// The events are `created`, `changed`, `removed` and `lost`, which says that more happened than could be told.
#[utoipa::path(get, path = "/api/sandboxes/{id}/watch", tag = "files", params(("id" = String, Path), WhatToWatch),
    responses((status = 200, description = "What happens, event by event.", content_type = "text/event-stream", body = String),
        (status = 403, description = "It may not be watched.", body = ErrorBody),
        (status = 404, description = "There is no such sandbox or file.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox is gone.", body = ErrorBody),
        (status = 422, description = "No such path, or the backend cannot do it.", body = ErrorBody)))]
pub(super) async fn watch(
    State(sandboxes): State<Shared>,
    caller: Caller,
    Named(id): Named<String>,
    Asked(what): Asked<WhatToWatch>,
) -> Result<Response, ApiError> {
    let (entry, path) = prepared(&sandboxes, &caller, &id, what.path.as_deref().unwrap_or("workspace"))?;
    let watching = entry.sandbox.watch(&path).await?;
    let events = unfold(watching, |mut watching| async move {
        let event = watching.next().await?;
        let name = serde_json::to_value(event.kind).ok()?;
        let data = serde_json::to_string(&event).ok()?;
        let told = Event::default().event(name.as_str().unwrap_or("changed")).data(data);
        Some((Ok::<_, Infallible>(told), watching))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

#[cfg(test)]
mod tests {
    use super::inside;

    #[test]
    fn a_path_does_not_climb() {
        assert_eq!(inside("workspace/a b").unwrap().to_str(), Some("/workspace/a b"));
        assert_eq!(inside("/etc/passwd").unwrap().to_str(), Some("/etc/passwd"));
        for path in ["workspace/../etc", "../x", "a\0b"] {
            assert!(inside(path).is_err(), "{path}");
        }
    }
}
