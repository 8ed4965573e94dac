//! Running command of the fake backend, as its caller sees it.

use std::io;

use async_trait::async_trait;
use menace_model::sandbox::ExecOutcome;
use menace_sandbox::{ProcessEvent, SandboxError, SandboxProcess};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::error_number;
use crate::streams::CHUNK;

/// Highest signal number on Linux.
const LAST_SIGNAL: i32 = 64;

pub(crate) struct FakeProcess {
    /// `None` once closed.
    pub(crate) stdin: Option<DuplexStream>,
    /// `None` once its end was read; the same holds for stderr.
    pub(crate) stdout: Option<DuplexStream>,
    pub(crate) stderr: Option<DuplexStream>,
    pub(crate) signals: mpsc::UnboundedSender<i32>,
    /// `None` once the outcome was reported.
    pub(crate) outcome: Option<JoinHandle<ExecOutcome>>,
}

#[async_trait]
impl SandboxProcess for FakeProcess {
    async fn next(&mut self) -> Result<ProcessEvent, SandboxError> {
        while self.stdout.is_some() || self.stderr.is_some() {
            let (mut stdout_bytes, mut stderr_bytes) = (vec![0; CHUNK], vec![0; CHUNK]);
            tokio::select! {
                count = read(&mut self.stdout, &mut stdout_bytes) => {
                    if let Some(bytes) = taken(count?, stdout_bytes, &mut self.stdout) {
                        return Ok(ProcessEvent::Stdout(bytes));
                    }
                }
                count = read(&mut self.stderr, &mut stderr_bytes) => {
                    if let Some(bytes) = taken(count?, stderr_bytes, &mut self.stderr) {
                        return Ok(ProcessEvent::Stderr(bytes));
                    }
                }
            }
        }
        let Some(outcome) = &mut self.outcome else {
            return Err(SandboxError::Protocol("the command has already ended".to_owned()));
        };
        let outcome = outcome.await;
        self.outcome = None;
        match outcome {
            Ok(outcome) => Ok(ProcessEvent::Exited(Box::new(outcome))),
            Err(error) => Err(SandboxError::Protocol(format!("a fake program failed: {error}"))),
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError> {
        let written = match &mut self.stdin {
            Some(stdin) => stdin.write_all(bytes).await,
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        written.map_err(SandboxError::io("write to the stdin of a command"))
    }

    async fn take_stdin(&mut self) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
        Some(Box::new(self.stdin.take()?))
    }

    async fn close_stdin(&mut self) -> Result<(), SandboxError> {
        self.stdin = None;
        Ok(())
    }

    async fn kill(&mut self) -> Result<(), SandboxError> {
        // A fake program starts no others.
        self.signal(9).await
    }

    async fn signal(&mut self, signal: i32) -> Result<(), SandboxError> {
        let refused = match signal {
            libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => Err(SandboxError::Refused {
                problem: format!("the fake backend cannot stop a command with signal {signal}"),
                hint: "pause the sandbox".to_owned(),
            }),
            0..=LAST_SIGNAL => Ok(()),
            _ => Err(SandboxError::io("send a signal")(error_number::invalid())),
        };
        refused?;
        // After the end of the command the signal has no effect, as with a zombie process.
        let _ended = self.signals.send(signal);
        Ok(())
    }
}

impl Drop for FakeProcess {
    fn drop(&mut self) {
        if let Some(outcome) = &self.outcome {
            outcome.abort();
        }
    }
}

async fn read(stream: &mut Option<DuplexStream>, bytes: &mut [u8]) -> Result<usize, SandboxError> {
    match stream {
        Some(stream) => stream.read(bytes).await.map_err(SandboxError::io("read the output of a command")),
        None => std::future::pending().await,
    }
}

/// Bytes that were read; `None` at the end of the stream, which is then closed.
fn taken(count: usize, mut bytes: Vec<u8>, stream: &mut Option<DuplexStream>) -> Option<Vec<u8>> {
    if count == 0 {
        *stream = None;
        return None;
    }
    bytes.truncate(count);
    Some(bytes)
}
