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
use menace_model::sandbox::{FileEntry, FileKind, FileOperation};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use utoipa::{IntoParams, ToSchema};

use super::SharedSandboxes;
use super::archive::{BoxedByteReader, SingleFileExtractor, of_file, reader, split};
use super::extractors::{JsonBody, PathParams, QueryParams, RawBytes};
use crate::error::{ApiError, ErrorBody};
use crate::sandboxes::{Caller, SandboxEntry};

/// Buffer size between a sandbox and a caller.
const PIPE: usize = 256 << 10;
/// Length of a tar block.
const BLOCK: usize = 512;

/// A file, directory or other entry in a sandbox.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FileView {
    /// Last component of the path.
    name: String,
    /// Full path.
    path: String,
    /// `file`, `directory`, `link` or `other`.
    kind: String,
    /// Size in bytes.
    size: u64,
    /// Permissions, such as `0644`.
    mode: String,
    /// Modification time.
    modified_at: String,
    /// Target of a symbolic link.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

/// Content of a directory.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DirectoryListing {
    /// Path of the directory.
    path: String,
    /// Entries, sorted by name.
    entries: Vec<FileView>,
}

/// JSON response about a path.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum PathResponse {
    /// Content of a directory.
    Listing(DirectoryListing),
    /// Metadata of an entry.
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
            modified_at: crate::clock::format_time(entry.modified.saturating_mul(1000)),
            target: entry.target,
        }
    }
}

/// Absolute path without `..`, so that its meaning does not depend on links created inside the sandbox.
fn sandbox_path(path: &str) -> Result<PathBuf, ApiError> {
    let path = Path::new("/").join(path);
    let is_plain = |part: Component| matches!(part, Component::RootDir | Component::Normal(_));
    if path.as_os_str().as_encoded_bytes().contains(&0) || !path.components().all(is_plain) {
        return Err(ApiError::invalid(format!(
            "{}: a path must not contain .. or a zero byte",
            path.display()
        )));
    }
    Ok(path)
}

fn entry_and_path(
    sandboxes: &SharedSandboxes,
    caller: &Caller,
    id: &str,
    path: &str,
) -> Result<(Arc<SandboxEntry>, PathBuf), ApiError> {
    let entry = sandboxes.find(caller, id)?;
    entry.check_not_paused()?;
    Ok((entry, sandbox_path(path)?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ReadFileQuery {
    /// `content`: bytes of a file or list of a directory; `stat`: metadata; `tar`: archive.
    #[serde(rename = "as")]
    #[param(rename = "as")]
    form: Option<FileReadFormat>,
}

/// Representation of a path in the response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileReadFormat {
    #[default]
    Content,
    Stat,
    Tar,
}

/// Read a file, list a directory, or download either as an archive.
#[utoipa::path(get, path = "/api/sandboxes/{id}/files/{*path}", tag = "files",
    params(("id" = String, Path), ("path" = String, Path, description = "Path inside the sandbox, without the leading slash."), ReadFileQuery),
    responses(
        (status = 200, description = "Content of the file, archive, or JSON.",
            content((RawBytes = "application/octet-stream"), (PathResponse = "application/json"), (RawBytes = "application/x-tar"))),
        (status = 403, description = "No permission to read.", body = ErrorBody),
        (status = 404, description = "Sandbox or file not found.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 422, description = "Invalid path.", body = ErrorBody)))]
pub(super) async fn get(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams((id, path)): PathParams<(String, String)>,
    QueryParams(how): QueryParams<ReadFileQuery>,
) -> Result<Response, ApiError> {
    let (entry, path) = entry_and_path(&sandboxes, &caller, &id, &path)?;
    let _used = entry.used();
    let stat = look(&entry, &path).await?;
    match (how.form.unwrap_or_default(), stat.kind) {
        (FileReadFormat::Stat, _) => Ok(Json(PathResponse::File(FileView::of(stat, &path))).into_response()),
        (FileReadFormat::Tar, _) => archive_response(&entry, path).await,
        (FileReadFormat::Content, FileKind::Directory) => {
            let entries = entry.sandbox.files(FileOperation::List(path.clone())).await?;
            let entries = entries
                .into_iter()
                .map(|one| {
                    let below = path.join(&one.name);
                    FileView::of(one, &below)
                })
                .collect();
            Ok(Json(PathResponse::Listing(DirectoryListing { path: path.display().to_string(), entries }))
                .into_response())
        }
        (FileReadFormat::Content, FileKind::File) => content(&entry, path, stat.size).await,
        (FileReadFormat::Content, FileKind::Link | FileKind::Other) => {
            Err(ApiError::invalid(format!("{} is not a regular file", path.display()))
                .hint("use ?as=stat for its kind and link target"))
        }
    }
}

async fn look(entry: &SandboxEntry, path: &Path) -> Result<FileEntry, ApiError> {
    let entries = entry.sandbox.files(FileOperation::Look(path.to_owned())).await?;
    entries.into_iter().next().ok_or_else(|| ApiError::internal("the sandbox returned no metadata"))
}

/// Starts packing a path: returns the first block and the stream of the rest. Waiting for the first block reports errors
/// before the response begins.
async fn pack(entry: &Arc<SandboxEntry>, path: PathBuf) -> Result<(Vec<u8>, DuplexStream), ApiError> {
    let (mut from, mut archive) = duplex(PIPE);
    let packing = Arc::clone(entry);
    let packing = tokio::spawn(async move {
        let _used = packing.used();
        let packed = packing.sandbox.get(&path, &mut archive).await;
        drop(archive.shutdown().await);
        packed.inspect_err(|error| tracing::debug!("failed to pack {}: {error}", path.display()))
    });
    let mut first = vec![0; BLOCK];
    // A failed start still yields an empty archive, which consists of zeros.
    let has_begun = from.read_exact(&mut first).await.is_ok() && first.iter().any(|byte| *byte != 0);
    if has_begun {
        return Ok((first, from));
    }
    match packing.await {
        Ok(Err(error)) => Err(error.into()),
        Ok(Ok(())) => Err(ApiError::internal("the sandbox returned an empty archive")),
        Err(error) => Err(ApiError::internal(format!("failed to pack: {error}"))),
    }
}

/// Streams the content of a file.
async fn content(entry: &Arc<SandboxEntry>, path: PathBuf, size: u64) -> Result<Response, ApiError> {
    let (first, from) = pack(entry, path).await?;
    let (ours, theirs) = duplex(PIPE);
    tokio::spawn(extract(first, from, theirs));
    let body = HttpBody::from_stream(tokio_util::io::ReaderStream::new(ours));
    // If the file shrinks while it is read, the connection is closed early, so that the client notices the truncation.
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, size.to_string()),
    ];
    Ok((headers, body).into_response())
}

async fn extract(first: Vec<u8>, mut archive: DuplexStream, to: DuplexStream) {
    let mut content = SingleFileExtractor::new(to);
    let mut taken = content.take(&first).await;
    let mut buffer = vec![0; 64 << 10];
    while let (Ok(()), Ok(length @ 1..)) = (&taken, archive.read(&mut buffer).await) {
        taken = content.take(buffer.get(..length).unwrap_or_default()).await;
    }
}

async fn archive_response(entry: &Arc<SandboxEntry>, path: PathBuf) -> Result<Response, ApiError> {
    let (first, rest) = pack(entry, path).await?;
    let whole = std::io::Cursor::new(first).chain(rest);
    let body = HttpBody::from_stream(tokio_util::io::ReaderStream::new(whole));
    Ok(([(header::CONTENT_TYPE, "application/x-tar")], body).into_response())
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WriteFileQuery {
    /// `content`: write a file; `tar`: unpack an archive into a directory; `directory`: create a directory.
    #[serde(rename = "as")]
    #[param(rename = "as")]
    form: Option<FileWriteFormat>,
    /// Permissions of the file, such as `0755`.
    #[param(pattern = "^0?[0-7]{3}$")]
    mode: Option<String>,
}

/// Interpretation of the request body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileWriteFormat {
    #[default]
    Content,
    Tar,
    Directory,
}

/// Write a file, unpack an archive, or create a directory.
#[utoipa::path(put, path = "/api/sandboxes/{id}/files/{*path}", tag = "files",
    params(("id" = String, Path), ("path" = String, Path, description = "Path inside the sandbox, without the leading slash."), WriteFileQuery),
    request_body(content = Option<RawBytes>, content_type = "application/octet-stream"),
    responses((status = 204, description = "Written."),
        (status = 403, description = "No permission to write.", body = ErrorBody),
        (status = 404, description = "Sandbox not found.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 411, description = "Content-Length is missing.", body = ErrorBody),
        (status = 413, description = "Larger than the disk of the sandbox.", body = ErrorBody),
        (status = 422, description = "Invalid path or mode, or an archive with paths outside its directory.", body = ErrorBody),
        (status = 507, description = "The disk of the sandbox is full.", body = ErrorBody)))]
pub(super) async fn put(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams((id, path)): PathParams<(String, String)>,
    QueryParams(how): QueryParams<WriteFileQuery>,
    headers: HeaderMap,
    body: HttpBody,
) -> Result<StatusCode, ApiError> {
    let (entry, path) = entry_and_path(&sandboxes, &caller, &id, &path)?;
    let _used = entry.used();
    match how.form.unwrap_or_default() {
        FileWriteFormat::Directory => {
            entry.sandbox.files(FileOperation::MakeDirectory(path)).await?;
        }
        FileWriteFormat::Tar => entry.sandbox.put(&path, &mut reader(body)).await?,
        FileWriteFormat::Content => {
            let mode = mode(how.mode.as_deref())?;
            let length = length(&headers, &entry)?;
            let (directory, name) = split(&path)?;
            let mut archive: BoxedByteReader = of_file(name, length, mode, entry.spec.user, reader(body))?;
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
        .ok_or_else(|| ApiError::invalid("mode: expected three octal digits such as 755"))
}

/// Length of the uploaded file. Files that cannot fit are rejected before they are read.
fn length(headers: &HeaderMap, entry: &SandboxEntry) -> Result<u64, ApiError> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let length: u64 = length.ok_or_else(|| {
        ApiError::new(StatusCode::LENGTH_REQUIRED, "length_required", "Content-Length is missing")
            .hint("send Content-Length, or send the file in an archive with ?as=tar")
    })?;
    let disk = entry.spec.limits.effective_disk();
    if length > disk {
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("file of {length} bytes exceeds the disk limit of {disk} bytes"),
        ));
    }
    Ok(length)
}

/// Request to move a file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MoveFileRequest {
    /// New path.
    #[schema(example = "/workspace/new.txt")]
    move_to: String,
}

/// Move a file or directory.
#[utoipa::path(patch, path = "/api/sandboxes/{id}/files/{*path}", tag = "files",
    params(("id" = String, Path), ("path" = String, Path)), request_body = MoveFileRequest,
    responses((status = 204, description = "Moved."),
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 403, description = "No permission to move.", body = ErrorBody),
        (status = 404, description = "Sandbox or file not found.", body = ErrorBody),
        (status = 409, description = "The target exists already, or the sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 415, description = "Content-Type is not JSON.", body = ErrorBody),
        (status = 422, description = "Invalid path.", body = ErrorBody),
        (status = 507, description = "The disk of the sandbox is full.", body = ErrorBody)))]
pub(super) async fn change(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams((id, path)): PathParams<(String, String)>,
    JsonBody(change): JsonBody<MoveFileRequest>,
) -> Result<StatusCode, ApiError> {
    let (entry, from) = entry_and_path(&sandboxes, &caller, &id, &path)?;
    let _used = entry.used();
    entry.sandbox.files(FileOperation::Rename { from, to: sandbox_path(&change.move_to)? }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a file, or a directory with its content.
#[utoipa::path(delete, path = "/api/sandboxes/{id}/files/{*path}", tag = "files",
    params(("id" = String, Path), ("path" = String, Path)),
    responses((status = 204, description = "Removed."),
        (status = 403, description = "No permission to remove.", body = ErrorBody),
        (status = 404, description = "Sandbox or file not found.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 422, description = "Invalid path.", body = ErrorBody)))]
pub(super) async fn remove(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams((id, path)): PathParams<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let (entry, path) = entry_and_path(&sandboxes, &caller, &id, &path)?;
    let _used = entry.used();
    entry.sandbox.files(FileOperation::Remove(path)).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WatchFilesQuery {
    /// File or directory; default `/workspace`.
    path: Option<String>,
}

/// Stream changes of files as server-sent events.
///
/// The events are `created`, `changed`, `removed` and `lost`; `lost` means that events were dropped.
#[utoipa::path(get, path = "/api/sandboxes/{id}/watch", tag = "files", params(("id" = String, Path), WatchFilesQuery),
    responses((status = 200, description = "Event stream.", content_type = "text/event-stream", body = String),
        (status = 403, description = "No permission to watch.", body = ErrorBody),
        (status = 404, description = "Sandbox or file not found.", body = ErrorBody),
        (status = 409, description = "The sandbox is paused.", body = ErrorBody),
        (status = 410, description = "The sandbox no longer exists.", body = ErrorBody),
        (status = 422, description = "Invalid path, or the backend does not support watching.", body = ErrorBody)))]
pub(super) async fn watch(
    State(sandboxes): State<SharedSandboxes>,
    caller: Caller,
    PathParams(id): PathParams<String>,
    QueryParams(what): QueryParams<WatchFilesQuery>,
) -> Result<Response, ApiError> {
    let (entry, path) =
        entry_and_path(&sandboxes, &caller, &id, what.path.as_deref().unwrap_or("workspace"))?;
    let watching = entry.sandbox.watch(&path).await?;
    let events = unfold(watching, |mut watching| async move {
        let event = watching.next().await?;
        let name = serde_json::to_value(event.kind).ok()?;
        let data = serde_json::to_string(&event).ok()?;
        let sse_event = Event::default().event(name.as_str().unwrap_or("changed")).data(data);
        Some((Ok::<_, Infallible>(sse_event), watching))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

#[cfg(test)]
mod tests {
    use super::sandbox_path;

    #[test]
    fn paths_with_parent_components_are_rejected() {
        assert_eq!(sandbox_path("workspace/a b").unwrap().to_str(), Some("/workspace/a b"));
        assert_eq!(sandbox_path("/etc/passwd").unwrap().to_str(), Some("/etc/passwd"));
        for path in ["workspace/../etc", "../x", "a\0b"] {
            assert!(sandbox_path(path).is_err(), "{path}");
        }
    }
}
