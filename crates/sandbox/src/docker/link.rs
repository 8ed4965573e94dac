//! A conversation with our program in a container: an exec of the engine with both streams attached.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use futures_util::{Stream, StreamExt};
use menace_inside::protocol::{
    Kind, LONGEST_FRAME, Order, PLACE, Report, SERVE, decode, encode, frame, take_frame,
};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{Sender, channel};

use super::handle::Handle;
use crate::SandboxError;

/// How long an engine may take to start our program. A command that stops everything that it can stops this too.
const PATIENCE: Duration = Duration::from_secs(4);

/// How long our program may be silent while it works: it says all the time that it does.
const SILENCE: Duration = Duration::from_secs(3);

/// How many frames may wait to be written.
const FRAMES_UNDER_WAY: usize = 2;

/// How much of what the engine complains is kept.
const LONGEST_COMPLAINT: usize = 4 << 10;

/// Both directions.
pub(super) struct Link {
    pub(super) from: FromInside,
    pub(super) to: ToInside,
}

/// What our program says.
pub(super) struct FromInside {
    output: Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>,
    buffer: Vec<u8>,
    /// What is no frame is said by the engine: why our program could not be started.
    complaint: String,
    handle: Arc<Handle>,
}

/// What is said to it; several may. A task writes it, so that whoever gives up in between has said all of it or nothing.
#[derive(Clone)]
pub(super) struct ToInside(Sender<Vec<u8>>);

impl Link {
    /// Starts our program in a container with an order.
    pub(super) async fn open(handle: &Arc<Handle>, order: &Order) -> Result<Self, SandboxError> {
        handle.check_alive()?;
        let order = encode(order).map_err(SandboxError::io("write an order"))?;
        if order.len() > LONGEST_FRAME {
            return Err(SandboxError::Refused {
                problem: format!("a command of {} bytes is too long", order.len()),
                hint: "put what is long into a file, or into its stdin".into(),
            });
        }
        let started = tokio::time::timeout(PATIENCE, start(handle)).await;
        let (output, input) = started.unwrap_or_else(|_| {
            Err(SandboxError::Io {
                action: "start something in a container",
                source: io::Error::new(
                    io::ErrorKind::TimedOut,
                    "a program in it may have stopped everything",
                ),
            })
        })?;
        let from =
            FromInside { output, buffer: Vec::new(), complaint: String::new(), handle: Arc::clone(handle) };
        let link = Self { from, to: ToInside::start(input) };
        link.to.send(Kind::Order, &order).await.map_err(SandboxError::io("send an order"))?;
        Ok(link)
    }

    /// Waits for the next report of work; what is no report goes to `output`.
    pub(super) async fn report(
        &mut self,
        action: &'static str,
        path: &Path,
        output: &mut Vec<u8>,
    ) -> Result<Report, SandboxError> {
        let inside =
            |reason: &str| SandboxError::Inside { action, path: path.to_owned(), reason: reason.to_owned() };
        let Ok(heard) = tokio::time::timeout(SILENCE, self.from.next()).await else {
            return Err(inside(
                "nobody answers: a program in the sandbox may have stopped the one that does it",
            ));
        };
        match heard? {
            None => {
                let end = self.from.end().await;
                Err(end.unwrap_or_else(|| inside("the process that did it was killed")))
            }
            Some((Kind::Output, bytes)) => {
                output.extend(bytes);
                Ok(Report::StillWorking)
            }
            Some((Kind::Report, body)) => match parse(&body)? {
                Report::Failed { problem } => Err(inside(&problem)),
                report => Ok(report),
            },
            Some((kind, _)) => Err(wrong(&format!("{kind:?}"))),
        }
    }
}

type Streams =
    (Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>, Pin<Box<dyn AsyncWrite + Send>>);

async fn start(handle: &Handle) -> Result<Streams, SandboxError> {
    const ACTION: &str = "start something in a container";
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
        Ok(StartExecResults::Detached) => Err(wrong("a detached start")),
        Err(error) => Err(handle.failed(ACTION, error).await),
    }
}

impl FromInside {
    /// Waits for the next frame; nothing at the end. It can be given up without losing anything.
    pub(super) async fn next(&mut self) -> Result<Option<(Kind, Vec<u8>)>, SandboxError> {
        loop {
            if let Some(frame) = take_frame(&mut self.buffer).map_err(|error| wrong(&error.to_string()))? {
                return Ok(Some(frame));
            }
            match self.output.next().await {
                None => return Ok(None),
                Some(Ok(LogOutput::StdOut { message })) => self.buffer.extend(&message),
                Some(Ok(other)) => self.complain(&other.into_bytes()),
                Some(Err(error)) => return Err(self.handle.failed("listen to a container", error).await),
            }
        }
    }

    fn complain(&mut self, bytes: &[u8]) {
        let room = LONGEST_COMPLAINT.saturating_sub(self.complaint.len());
        self.complaint.extend(String::from_utf8_lossy(bytes).chars().take(room));
    }

    /// Why there is nothing more to hear, if it is not that our program was killed.
    pub(super) async fn end(&mut self) -> Option<SandboxError> {
        if let Err(gone) = self.handle.look().await {
            return Some(gone);
        }
        let complaint = self.complaint.trim();
        let source = || io::Error::other(complaint.to_owned());
        (!complaint.is_empty())
            .then(|| SandboxError::Io { action: "start something in a container", source: source() })
    }
}

impl ToInside {
    fn start(mut input: Pin<Box<dyn AsyncWrite + Send>>) -> Self {
        let (sender, mut frames) = channel::<Vec<u8>>(FRAMES_UNDER_WAY);
        tokio::spawn(async move {
            while let Some(frame) = frames.recv().await {
                // Whoever sends the next one hears of it.
                if input.write_all(&frame).await.is_err() || input.flush().await.is_err() {
                    return;
                }
            }
        });
        Self(sender)
    }

    /// Sends a frame.
    pub(super) async fn send(&self, kind: Kind, body: &[u8]) -> io::Result<()> {
        self.0.send(frame(kind, body)).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// A report from the body of its frame.
pub(super) fn parse(body: &[u8]) -> Result<Report, SandboxError> {
    decode(body).map_err(|error| wrong(&error.to_string()))
}

/// Our program is in a place where others may be, too: whatever it says is checked.
pub(super) fn wrong(what: &str) -> SandboxError {
    SandboxError::Protocol(format!("a container did not keep to the protocol: {what}"))
}
