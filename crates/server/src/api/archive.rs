//! Conversion between a single file and a tar archive, since sandboxes accept and return archives.

use std::io;
use std::path::Path;
use std::pin::Pin;

use futures_util::TryStreamExt;
use menace_model::sandbox::SandboxUser;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::error::ApiError;

/// Length of a tar block.
const BLOCK: u64 = 512;
/// Length of the end-of-archive marker.
const END: usize = 1024;

/// A readable stream of bytes.
pub(super) type BoxedByteReader = Pin<Box<dyn AsyncRead + Send>>;

/// Converts a request body to a reader.
pub(super) fn reader(body: axum::body::Body) -> BoxedByteReader {
    let stream = body.into_data_stream().map_err(io::Error::other);
    Box::pin(tokio_util::io::StreamReader::new(stream))
}

/// Archive with one file of known length.
pub(super) fn of_file(
    name: &str,
    length: u64,
    mode: u32,
    user: SandboxUser,
    content: BoxedByteReader,
) -> Result<BoxedByteReader, ApiError> {
    let mut header = tar::Header::new_gnu();
    header.set_size(length);
    header.set_mode(mode);
    header.set_uid(u64::from(user.uid));
    header.set_gid(u64::from(user.gid));
    header.set_mtime(u64::try_from(crate::clock::now_ms() / 1000).unwrap_or(0));
    let mut builder = tar::Builder::new(Vec::new());
    builder
        .append_data(&mut header, name, io::empty())
        .and_then(|()| builder.into_inner())
        .map(|mut head| {
            // The builder appends the end marker after the header; it belongs after the content and its padding to a
            // whole block.
            head.truncate(head.len().saturating_sub(END));
            let padding = (BLOCK - length % BLOCK) % BLOCK + END as u64;
            let zeros = tokio::io::repeat(0).take(padding);
            Box::pin(io::Cursor::new(head).chain(content.take(length)).chain(zeros)) as BoxedByteReader
        })
        .map_err(|error| ApiError::invalid(format!("invalid file name {name:?}: {error}")))
}

/// Extracts the content of the only file in an archive and writes it to `to`.
pub(super) struct SingleFileExtractor<W> {
    to: W,
    block: Vec<u8>,
    state: ExtractorState,
}

enum ExtractorState {
    /// Reading a header. A name too long for the header comes before it as an entry of its own.
    Header,
    /// Skipping this many bytes of a long name.
    Skip(u64),
    /// Copying this many remaining bytes of the file.
    File(u64),
    Done,
}

impl<W: AsyncWrite + Unpin> SingleFileExtractor<W> {
    pub(super) fn new(to: W) -> Self {
        Self { to, block: Vec::new(), state: ExtractorState::Header }
    }

    /// Processes the next part of the archive.
    pub(super) async fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match &mut self.state {
                ExtractorState::Done => return Ok(()),
                ExtractorState::Skip(left) => {
                    let taken = clipped(*left, bytes.len());
                    *left -= taken as u64;
                    bytes = bytes.get(taken..).unwrap_or_default();
                    if *left == 0 {
                        self.state = ExtractorState::Header;
                    }
                }
                ExtractorState::File(left) => {
                    let taken = clipped(*left, bytes.len());
                    self.to.write_all(bytes.get(..taken).unwrap_or_default()).await?;
                    *left -= taken as u64;
                    bytes = bytes.get(taken..).unwrap_or_default();
                    if *left == 0 {
                        self.state = ExtractorState::Done;
                    }
                }
                ExtractorState::Header => {
                    let wanted = usize::try_from(BLOCK).unwrap_or(512) - self.block.len();
                    let taken = wanted.min(bytes.len());
                    self.block.extend_from_slice(bytes.get(..taken).unwrap_or_default());
                    bytes = bytes.get(taken..).unwrap_or_default();
                    if taken == wanted {
                        self.state = self.read_header()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn read_header(&mut self) -> io::Result<ExtractorState> {
        let header = tar::Header::from_byte_slice(&self.block);
        let size = header.entry_size()?;
        let kind = header.entry_type();
        self.block.clear();
        let rounded = size.div_ceil(BLOCK) * BLOCK;
        Ok(match kind {
            tar::EntryType::Regular | tar::EntryType::Continuous if size == 0 => ExtractorState::Done,
            tar::EntryType::Regular | tar::EntryType::Continuous => ExtractorState::File(size),
            tar::EntryType::GNULongName
            | tar::EntryType::GNULongLink
            | tar::EntryType::XHeader
            | tar::EntryType::XGlobalHeader => ExtractorState::Skip(rounded),
            _ => return Err(io::Error::other("not a regular file")),
        })
    }
}

fn clipped(left: u64, length: usize) -> usize {
    usize::try_from(left).unwrap_or(usize::MAX).min(length)
}

/// Splits a path into its directory and file name.
pub(super) fn split(path: &Path) -> Result<(&Path, &str), ApiError> {
    let name = path.file_name().and_then(|name| name.to_str());
    match (path.parent(), name) {
        (Some(directory), Some(name)) => Ok((directory, name)),
        _ => Err(ApiError::invalid(format!("{} is not a file path", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn round_trip(name: &str, content: &[u8], piece: usize) -> Vec<u8> {
        let reader: BoxedByteReader = Box::pin(io::Cursor::new(content.to_vec()));
        let mut archive = of_file(name, content.len() as u64, 0o644, SandboxUser::default(), reader).unwrap();
        let mut bytes = Vec::new();
        archive.read_to_end(&mut bytes).await.unwrap();
        // The tar crate must be able to read it as well.
        let mut read = tar::Archive::new(&bytes[..]);
        let mut entries = read.entries().unwrap();
        let mut entry = entries.next().unwrap().unwrap();
        assert_eq!(entry.path().unwrap().to_str().unwrap(), name);
        let mut unpacked = Vec::new();
        io::Read::read_to_end(&mut entry, &mut unpacked).unwrap();
        assert_eq!(unpacked, content);
        let mut found = Vec::new();
        let mut content = SingleFileExtractor::new(&mut found);
        for piece in bytes.chunks(piece) {
            content.take(piece).await.unwrap();
        }
        found
    }

    #[tokio::test]
    async fn a_file_survives_a_round_trip() {
        let long = "n".repeat(200);
        for name in ["a.txt", long.as_str()] {
            for length in [0, 1, 511, 512, 513, 5000] {
                let content: Vec<u8> = (0..length).map(|byte| u8::try_from(byte % 251).unwrap()).collect();
                for piece in [1, 100, 512, 10_000] {
                    assert_eq!(round_trip(name, &content, piece).await, content, "{name} {length} {piece}");
                }
            }
        }
    }
}
