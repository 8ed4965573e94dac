//! A background process that runs independently of its readers.

use std::sync::Arc;
use std::time::Duration;

use menace_model::sandbox::{ExecOutcome, TerminalSize};
use menace_sandbox::{ProcessEvent, SandboxError, SandboxProcess};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, mpsc, oneshot, watch};

use super::transcript::{Transcript, TranscriptRetention, TranscriptStream};

/// Capacity of the queue of control requests.
const MAX_ORDERS: usize = 16;

/// A background process that is running or has ended.
pub struct BackgroundProcess {
    /// Id of the process within its sandbox.
    pub id: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Start time, in milliseconds since 1970.
    pub started_ms: i64,
    /// Recorded output.
    pub transcript: Arc<Transcript>,
    state: watch::Receiver<BackgroundProcessState>,
    orders: mpsc::Sender<ProcessControlRequest>,
    stdin: Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>,
}

/// Control request to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessControl {
    /// Send a signal.
    Signal(i32),
    /// Resize the terminal.
    Resize(TerminalSize),
    /// Kill the process and all its children.
    Kill,
}

/// A control request and the sender that reports its completion.
type ProcessControlRequest = (ProcessControl, oneshot::Sender<()>);

/// State of a background process.
#[derive(Debug, Clone)]
pub enum BackgroundProcessState {
    /// Running.
    Running,
    /// Ended at this time, in milliseconds since 1970.
    Ended(Box<ExecOutcome>, i64),
    /// The end could not be observed: reason and time.
    Lost(String, i64),
}

impl BackgroundProcessState {
    /// End time, in milliseconds since 1970.
    pub fn ended_ms(&self) -> Option<i64> {
        match self {
            Self::Running => None,
            Self::Ended(_, at) | Self::Lost(_, at) => Some(*at),
        }
    }
}

impl BackgroundProcess {
    /// Reads the output of a started process in a background task.
    pub async fn track(
        id: String,
        command: Vec<String>,
        mut process: Box<dyn SandboxProcess>,
        keeping: TranscriptRetention,
    ) -> Arc<Self> {
        let stdin = process.take_stdin().await;
        let transcript = Arc::new(Transcript::new(keeping));
        let (sender, state) = watch::channel(BackgroundProcessState::Running);
        let (orders, received) = mpsc::channel(MAX_ORDERS);
        tokio::spawn(read_to_end(process, received, Arc::clone(&transcript), sender));
        let started_ms = crate::clock::now_ms();
        Arc::new(Self { id, command, started_ms, transcript, state, orders, stdin: Mutex::new(stdin) })
    }

    /// Current state.
    pub fn state(&self) -> BackgroundProcessState {
        self.state.borrow().clone()
    }

    /// Waits until the process has ended.
    pub async fn ended(&self) -> BackgroundProcessState {
        let mut state = self.state.clone();
        // The sender is dropped only after it has sent the final state.
        let ended = state.wait_for(|state| state.ended_ms().is_some()).await;
        ended.map_or_else(|_| self.state(), |state| state.clone())
    }

    /// Sends a control request and waits for its completion, so that input typed after a resize sees the new size.
    /// Returns false if the process has ended.
    pub async fn control(&self, order: ProcessControl) -> bool {
        let (done, is_done) = oneshot::channel();
        if self.orders.send((order, done)).await.is_err() {
            return false;
        }
        // The process may end instead; only a kill counts as done then.
        is_done.await.is_ok() || order == ProcessControl::Kill
    }

    /// Writes to stdin; returns false if the process no longer reads it.
    pub async fn write(&self, bytes: &[u8]) -> bool {
        let mut stdin = self.stdin.lock().await;
        let Some(open) = stdin.as_mut() else { return false };
        let writing = async { open.write_all(bytes).await.is_ok() && open.flush().await.is_ok() };
        // A process that has not read for this long is assumed never to read again.
        let is_written = tokio::time::timeout(TIMEOUT, writing).await.unwrap_or(false);
        if !is_written {
            *stdin = None;
        }
        is_written
    }

    /// Closes stdin.
    pub async fn close_stdin(&self) {
        *self.stdin.lock().await = None;
    }
}

async fn read_to_end(
    mut process: Box<dyn SandboxProcess>,
    mut orders: mpsc::Receiver<ProcessControlRequest>,
    transcript: Arc<Transcript>,
    state: watch::Sender<BackgroundProcessState>,
) {
    let ended = loop {
        let received = tokio::select! {
            biased;
            order = orders.recv() => Err(order),
            event = next_with_room(&mut process, &transcript) => Ok(event),
        };
        match received {
            // Without a handle the output cannot be read any more, so the process is killed.
            Err(None | Some((ProcessControl::Kill, _))) => break kill_and_drain(process, &transcript).await,
            Err(Some((order, done))) => {
                let result = match order {
                    ProcessControl::Signal(signal) => process.signal(signal).await,
                    ProcessControl::Resize(size) => process.resize(size).await,
                    ProcessControl::Kill => Ok(()),
                };
                if let Err(error) = result {
                    tracing::debug!("failed to deliver {order:?} to a process: {error}");
                }
                let _sender_may_be_gone = done.send(());
            }
            Ok(Ok(ProcessEvent::Stdout(bytes))) => transcript.push(TranscriptStream::Stdout, bytes),
            Ok(Ok(ProcessEvent::Stderr(bytes))) => transcript.push(TranscriptStream::Stderr, bytes),
            Ok(Ok(ProcessEvent::Exited(outcome))) => {
                break BackgroundProcessState::Ended(outcome, crate::clock::now_ms());
            }
            Ok(Err(error)) => break BackgroundProcessState::Lost(error.to_string(), crate::clock::now_ms()),
        }
    };
    state.send_replace(ended);
    transcript.end();
}

async fn next_with_room(
    process: &mut Box<dyn SandboxProcess>,
    transcript: &Transcript,
) -> Result<ProcessEvent, SandboxError> {
    transcript.wait_for_room().await;
    process.next().await
}

/// Timeout for writing to stdin, and for a killed process to end.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Kills a process and reads its remaining output, without waiting for room in the transcript.
async fn kill_and_drain(
    mut process: Box<dyn SandboxProcess>,
    transcript: &Transcript,
) -> BackgroundProcessState {
    let drained = tokio::time::timeout(TIMEOUT, async {
        process.kill().await?;
        loop {
            match process.next().await? {
                ProcessEvent::Stdout(bytes) => transcript.push(TranscriptStream::Stdout, bytes),
                ProcessEvent::Stderr(bytes) => transcript.push(TranscriptStream::Stderr, bytes),
                ProcessEvent::Exited(outcome) => return Ok::<_, SandboxError>(outcome),
            }
        }
    })
    .await;
    // Dropping the handle kills the child processes.
    drop(process);
    let now = crate::clock::now_ms();
    match drained {
        Ok(Ok(outcome)) => BackgroundProcessState::Ended(outcome, now),
        Ok(Err(error)) => BackgroundProcessState::Lost(error.to_string(), now),
        Err(_) => BackgroundProcessState::Lost("the process did not end after it was killed".into(), now),
    }
}
