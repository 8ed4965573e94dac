//! Archive of host files for a container that has no access to them.

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe;

use crate::SandboxError;

/// All entries below a directory, parents first, with paths relative to it.
pub(super) fn below(directory: &Path) -> Result<Vec<(PathBuf, Metadata)>, SandboxError> {
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(parent) = pending.pop() {
        for (path, metadata) in entries(directory, &parent).map_err(|(path, source)| failed(&path, source))? {
            if metadata.is_dir() {
                pending.push(path.clone());
            }
            found.push((path, metadata));
        }
    }
    Ok(found)
}

fn entries(directory: &Path, parent: &Path) -> Result<Vec<(PathBuf, Metadata)>, (PathBuf, io::Error)> {
    let path = directory.join(parent);
    let failed = |source| (path.clone(), source);
    let mut entries = Vec::new();
    for entry in fs::read_dir(&path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = fs::symlink_metadata(entry.path()).map_err(|source| (entry.path(), source))?;
        entries.push((parent.join(entry.file_name()), metadata));
    }
    Ok(entries)
}

/// Bytes that the files take in a tmpfs, which stores whole pages.
pub(super) fn size(files: &[(PathBuf, Metadata)]) -> u64 {
    const PAGE: u64 = 4096;
    files.iter().map(|(_, metadata)| metadata.len().next_multiple_of(PAGE) + PAGE).sum()
}

/// Streams an archive of these files of a directory. The caller must also await the packing task.
pub(super) fn packing(
    directory: PathBuf,
    files: Vec<(PathBuf, Metadata)>,
) -> Result<(pipe::Receiver, tokio::task::JoinHandle<Result<(), SandboxError>>), SandboxError> {
    let (ours, theirs) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| SandboxError::io("open a pipe")(error.into()))?;
    rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::NONBLOCK)
        .map_err(|error| SandboxError::io("prepare a pipe")(error.into()))?;
    let ours = pipe::Receiver::from_owned_fd_unchecked(ours).map_err(SandboxError::io("watch a pipe"))?;
    let task = tokio::task::spawn_blocking(move || pack(&directory, &files, File::from(theirs)));
    Ok((ours, task))
}

fn pack(directory: &Path, files: &[(PathBuf, Metadata)], archive: File) -> Result<(), SandboxError> {
    let mut builder = tar::Builder::new(BufWriter::new(archive));
    builder.follow_symlinks(false);
    for (path, metadata) in files {
        let kind = metadata.file_type();
        if kind.is_socket() || kind.is_fifo() || kind.is_char_device() || kind.is_block_device() {
            tracing::debug!("skipping {}: not a file, directory or link", path.display());
            continue;
        }
        let from = directory.join(path);
        match builder.append_path_with_name(&from, path) {
            Ok(()) => {}
            // The reader stopped because of an error that it reports itself.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(failed(&from, error)),
        }
    }
    let finished = builder.into_inner().and_then(|mut archive| archive.flush());
    match finished {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(SandboxError::io("pack a directory")(error))
        }
        _ => Ok(()),
    }
}

fn failed(path: &Path, source: io::Error) -> SandboxError {
    SandboxError::HostPath { path: path.to_owned(), source }
}
