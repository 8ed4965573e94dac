//! Standard streams of a program: a pipe to the caller, or a file after a redirection.
//!
//! Clones share the position in the stream, as descriptors that a shell passes to its children do.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::Mutex;

use crate::machine::FakeMachine;

/// Capacity of a Linux pipe.
pub(crate) const PIPE_CAPACITY: usize = 64 << 10;

/// Bytes per read or write.
pub(crate) const CHUNK: usize = 8 << 10;

type FakeInputReader = Box<dyn AsyncRead + Send + Unpin>;

/// Standard input of a program.
#[derive(Clone)]
pub(crate) enum FakeProgramInput {
    Pipe(Arc<Mutex<FakeInputReader>>),
    Zero,
}

impl FakeProgramInput {
    pub(crate) fn new(reader: impl AsyncRead + Send + Unpin + 'static) -> Self {
        Self::Pipe(Arc::new(Mutex::new(Box::new(reader))))
    }

    /// Reads up to `most` bytes; empty at the end.
    pub(crate) async fn read(&self, most: usize) -> io::Result<Vec<u8>> {
        match self {
            Self::Zero => Ok(vec![0; most.min(CHUNK)]),
            Self::Pipe(reader) => {
                let mut bytes = vec![0; most.min(CHUNK)];
                let count = reader.lock().await.read(&mut bytes).await?;
                bytes.truncate(count);
                Ok(bytes)
            }
        }
    }
}

/// Standard output or error of a program.
#[derive(Clone)]
pub(crate) enum FakeProgramOutput {
    Pipe(Arc<Mutex<DuplexStream>>),
    File { machine: Arc<FakeMachine>, path: PathBuf },
    Null,
}

impl FakeProgramOutput {
    pub(crate) fn new(writer: DuplexStream) -> Self {
        Self::Pipe(Arc::new(Mutex::new(writer)))
    }

    pub(crate) async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        // A program that never waits could be neither paused nor killed.
        tokio::task::yield_now().await;
        match self {
            Self::Null => Ok(()),
            Self::Pipe(writer) => writer.lock().await.write_all(bytes).await,
            Self::File { machine, path } => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let count = machine.files().append(path, rest)?;
                    rest = &rest[count..];
                }
                Ok(())
            }
        }
    }
}
