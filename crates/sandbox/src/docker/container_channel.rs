//! Message channel to the guest program in a container: an exec of the engine with both streams attached.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures_util::{Stream, StreamExt};
use menace_guest::protocol::{
    GuestFrameKind, GuestReport, GuestRequest, LONGEST_FRAME, PLACE, SERVE, decode, encode, frame, take_frame,
};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{Sender, channel};

use super::handle::ContainerHandle;
use crate::SandboxError;

/// Timeout for starting the guest program. A command that stops every process it can signal also stops this one.
const START_TIMEOUT: Duration = Duration::from_secs(4);

/// Longest silence of the guest program while it works: it sends heartbeats.
const SILENCE: Duration = Duration::from_secs(3);

/// Number of frames queued for writing.
const FRAMES_UNDER_WAY: usize = 2;

/// Most characters kept of the engine's error output.
const LONGEST_COMPLAINT: usize = 4 << 10;

/// Both directions of the channel.
pub(super) struct ContainerChannel {
    pub(super) from: ContainerReceiver,
    pub(super) to: ContainerSender,
}

/// Frames from the guest program.
pub(super) struct ContainerReceiver {
    output: Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>,
    buffer: Vec<u8>,
    /// Output that is not a frame comes from the engine: the reason why the guest program could not be started.
    complaint: String,
    handle: Arc<ContainerHandle>,
}

/// Sender of frames to the guest program; can be cloned. A task writes the frames, so that a cancelled sender has sent
/// a whole frame or none.
#[derive(Clone)]
pub(super) struct ContainerSender(Sender<Vec<u8>>);

impl ContainerChannel {
    /// Starts the guest program in a container with an order.
    pub(super) async fn open(
        handle: &Arc<ContainerHandle>,
        order: &GuestRequest,
    ) -> Result<Self, SandboxError> {
        handle.check_alive()?;
        let order = encode(order).map_err(SandboxError::io("write an order"))?;
        if order.len() > LONGEST_FRAME {
            return Err(SandboxError::Refused {
                problem: format!("the command is too long: {} bytes", order.len()),
                hint: "pass long values in a file or on stdin".into(),
            });
        }
        let started = tokio::time::timeout(START_TIMEOUT, start(handle)).await;
        let (output, input) = started.unwrap_or_else(|_| {
            Err(SandboxError::Io {
                action: "start a process in a container",
                source: io::Error::new(
                    io::ErrorKind::TimedOut,
                    "a program in it may have stopped all processes",
                ),
            })
        })?;
        let from = ContainerReceiver {
            output,
            buffer: Vec::new(),
            complaint: String::new(),
            handle: Arc::clone(handle),
        };
        let link = Self { from, to: ContainerSender::start(input) };
        link.to.send(GuestFrameKind::Order, &order).await.map_err(SandboxError::io("send an order"))?;
        Ok(link)
    }

    /// Waits for the next report; bytes of output frames are appended to `output`.
    pub(super) async fn report(
        &mut self,
        action: &'static str,
        path: &Path,
        output: &mut Vec<u8>,
    ) -> Result<GuestReport, SandboxError> {
        let inside = |source: io::Error| SandboxError::Inside { action, path: path.to_owned(), source };
        let Ok(heard) = tokio::time::timeout(SILENCE, self.from.next()).await else {
            return Err(inside(io::Error::new(
                io::ErrorKind::TimedOut,
                "no answer: a program in the sandbox may have stopped the guest program",
            )));
        };
        match heard? {
            None => {
                let end = self.from.end().await;
                Err(end.unwrap_or_else(|| {
                    inside(io::Error::new(io::ErrorKind::BrokenPipe, "the guest program was killed"))
                }))
            }
            Some((GuestFrameKind::Output, bytes)) => {
                output.extend(bytes);
                Ok(GuestReport::StillWorking)
            }
            Some((GuestFrameKind::Report, body)) => match parse(&body)? {
                GuestReport::Failed(failure) => Err(inside(failure.into_error())),
                report => Ok(report),
            },
            Some((kind, _)) => Err(protocol_error(&format!("{kind:?}"))),
        }
    }
}

type DockerExecStreams =
    (Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>, Pin<Box<dyn AsyncWrite + Send>>);

async fn start(handle: &ContainerHandle) -> Result<DockerExecStreams, SandboxError> {
    const ACTION: &str = "start a process in a container";
    let options = CreateExecOptions {
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        user: Some(handle.user.clone()),
        cmd: Some(vec![PLACE.to_owned(), SERVE.to_owned()]),
        working_dir: Some("/".to_owned()),
        ..CreateExecOptions::default()
    };
    let created = handle.engine.docker.create_exec(&handle.container, options).await;
    let created = match created {
        Ok(created) => created,
        Err(error) => return Err(handle.failed(ACTION, error).await),
    };
    let options = StartExecOptions { output_capacity: Some(64 << 10), ..StartExecOptions::default() };
    match handle.engine.docker.start_exec(&created.id, Some(options)).await {
        Ok(StartExecResults::Attached { output, input }) => Ok((output, input)),
        Ok(StartExecResults::Detached) => Err(protocol_error("a detached start")),
        Err(error) => Err(handle.failed(ACTION, error).await),
    }
}

impl ContainerReceiver {
    /// Waits for the next frame; `None` at the end. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Option<(GuestFrameKind, Vec<u8>)>, SandboxError> {
        loop {
            if let Some(frame) =
                take_frame(&mut self.buffer).map_err(|error| protocol_error(&error.to_string()))?
            {
                return Ok(Some(frame));
            }
            match self.output.next().await {
                None => return Ok(None),
                Some(Ok(LogOutput::StdOut { message })) => self.buffer.extend(&message),
                Some(Ok(other)) => self.complain(&other.into_bytes()),
                Some(Err(error)) => return Err(self.handle.failed("read from a container", error).await),
            }
        }
    }

    fn complain(&mut self, bytes: &[u8]) {
        let room = LONGEST_COMPLAINT.saturating_sub(self.complaint.len());
        self.complaint.extend(String::from_utf8_lossy(bytes).chars().take(room));
    }

    /// Error that ended the stream, unless the guest program was killed.
    pub(super) async fn end(&mut self) -> Option<SandboxError> {
        if let Err(gone) = self.handle.running_state().await {
            return Some(gone);
        }
        let complaint = self.complaint.trim();
        let source = || io::Error::other(complaint.to_owned());
        (!complaint.is_empty())
            .then(|| SandboxError::Io { action: "start a process in a container", source: source() })
    }
}

impl ContainerSender {
    fn start(mut input: Pin<Box<dyn AsyncWrite + Send>>) -> Self {
        let (sender, mut frames) = channel::<Vec<u8>>(FRAMES_UNDER_WAY);
        tokio::spawn(async move {
            while let Some(frame) = frames.recv().await {
                // The next send fails because the receiver is dropped.
                if input.write_all(&frame).await.is_err() || input.flush().await.is_err() {
                    return;
                }
            }
        });
        Self(sender)
    }

    /// Sends a frame.
    pub(super) async fn send(&self, kind: GuestFrameKind, body: &[u8]) -> io::Result<()> {
        self.0.send(frame(kind, body)).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Decodes a report from the body of its frame.
pub(super) fn parse(body: &[u8]) -> Result<GuestReport, SandboxError> {
    decode(body).map_err(|error| protocol_error(&error.to_string()))
}

/// Protocol error. The guest program shares its container with untrusted code, so all its messages are checked.
pub(super) fn protocol_error(what: &str) -> SandboxError {
    SandboxError::Protocol(format!("protocol violation by a container: {what}"))
}
