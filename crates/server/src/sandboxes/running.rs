//! A command that goes on whether somebody listens or not.

use std::sync::Arc;
use std::time::Duration;

use menace_model::sandbox::{ExecOutcome, TerminalSize};
use menace_sandbox::{Event, Process, SandboxError};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, mpsc, oneshot, watch};

use super::transcript::{Keeping, Stream, Transcript};

/// Orders that may wait until a command is asked again.
const MOST_ORDERS: usize = 16;

/// A command that runs, or has run.
pub struct Running {
    /// Its name in its sandbox.
    pub id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: i64,
    /// What it printed.
    pub transcript: Arc<Transcript>,
    state: watch::Receiver<State>,
    orders: mpsc::Sender<Told>,
    stdin: Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>,
}

/// What a command is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// A signal.
    Signal(i32),
    /// How large its terminal is.
    Resize(TerminalSize),
    /// To end, with all that it started.
    Kill,
}

/// An order, and who waits until it was carried out.
type Told = (Order, oneshot::Sender<()>);

/// How far a command is.
#[derive(Debug, Clone)]
pub enum State {
    /// It runs.
    Running,
    /// It ended, at this time.
    Ended(Box<ExecOutcome>, i64),
    /// It is not known how it ended, and why.
    Lost(String, i64),
}

impl State {
    /// When it ended.
    pub fn ended_ms(&self) -> Option<i64> {
        match self {
            Self::Running => None,
            Self::Ended(_, at) | Self::Lost(_, at) => Some(*at),
        }
    }
}

impl Running {
    /// Lets a command that was started go on by itself.
    pub async fn attend(
        id: String,
        command: Vec<String>,
        mut process: Box<dyn Process>,
        keeping: Keeping,
    ) -> Arc<Self> {
        let stdin = process.take_stdin().await;
        let transcript = Arc::new(Transcript::new(keeping));
        let (sender, state) = watch::channel(State::Running);
        let (orders, received) = mpsc::channel(MOST_ORDERS);
        tokio::spawn(attended(process, received, Arc::clone(&transcript), sender));
        let started_ms = crate::clock::now_ms();
        Arc::new(Self { id, command, started_ms, transcript, state, orders, stdin: Mutex::new(stdin) })
    }

    /// How far it is.
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Waits until it has ended.
    pub async fn ended(&self) -> State {
        let mut state = self.state.clone();
        // The sender goes only after it has said how it ended.
        let ended = state.wait_for(|state| state.ended_ms().is_some()).await;
        ended.map_or_else(|_| self.state(), |state| state.clone())
    }

    /// Tells it something, and waits until that is done: what is typed after a change of size finds the new size. False if
    /// it has ended.
    pub async fn tell(&self, order: Order) -> bool {
        let (done, is_done) = oneshot::channel();
        if self.orders.send((order, done)).await.is_err() {
            return false;
        }
        // It may end instead, which is no answer.
        is_done.await.is_ok() || order == Order::Kill
    }

    /// Writes to its stdin; false if nobody reads it any more.
    pub async fn write(&self, bytes: &[u8]) -> bool {
        let mut stdin = self.stdin.lock().await;
        let Some(open) = stdin.as_mut() else { return false };
        let writing = async { open.write_all(bytes).await.is_ok() && open.flush().await.is_ok() };
        // Who does not read for so long will not.
        let is_written = tokio::time::timeout(PATIENCE, writing).await.unwrap_or(false);
        if !is_written {
            *stdin = None;
        }
        is_written
    }

    /// Ends its stdin.
    pub async fn close_stdin(&self) {
        *self.stdin.lock().await = None;
    }
}

async fn attended(
    mut process: Box<dyn Process>,
    mut orders: mpsc::Receiver<Told>,
    transcript: Arc<Transcript>,
    state: watch::Sender<State>,
) {
    let ended = loop {
        let happened = tokio::select! {
            biased;
            order = orders.recv() => Err(order),
            event = next_with_room(&mut process, &transcript) => Ok(event),
        };
        match happened {
            // Nobody knows it any more, and so nobody can hear it.
            Err(None | Some((Order::Kill, _))) => break killed(process, &transcript).await,
            Err(Some((order, done))) => {
                let told = match order {
                    Order::Signal(signal) => process.signal(signal).await,
                    Order::Resize(size) => process.resize(size).await,
                    Order::Kill => Ok(()),
                };
                if let Err(error) = told {
                    tracing::debug!("a command was not told {order:?}: {error}");
                }
                let _asker_may_be_gone = done.send(());
            }
            Ok(Ok(Event::Stdout(bytes))) => transcript.push(Stream::Stdout, bytes),
            Ok(Ok(Event::Stderr(bytes))) => transcript.push(Stream::Stderr, bytes),
            Ok(Ok(Event::Exited(outcome))) => break State::Ended(outcome, crate::clock::now_ms()),
            Ok(Err(error)) => break State::Lost(error.to_string(), crate::clock::now_ms()),
        }
    };
    state.send_replace(ended);
    transcript.end();
}

async fn next_with_room(
    process: &mut Box<dyn Process>,
    transcript: &Transcript,
) -> Result<Event, SandboxError> {
    transcript.room().await;
    process.next().await
}

/// How long a killed command may take to say how it ended.
const PATIENCE: Duration = Duration::from_secs(3);

/// Kills a command and hears it to its end. What it still printed counts; nobody has to make room for it.
async fn killed(mut process: Box<dyn Process>, transcript: &Transcript) -> State {
    let heard = tokio::time::timeout(PATIENCE, async {
        process.kill().await?;
        loop {
            match process.next().await? {
                Event::Stdout(bytes) => transcript.push(Stream::Stdout, bytes),
                Event::Stderr(bytes) => transcript.push(Stream::Stderr, bytes),
                Event::Exited(outcome) => return Ok::<_, SandboxError>(outcome),
            }
        }
    })
    .await;
    // Dropping the process kills what it started.
    drop(process);
    let now = crate::clock::now_ms();
    match heard {
        Ok(Ok(outcome)) => State::Ended(outcome, now),
        Ok(Err(error)) => State::Lost(error.to_string(), now),
        Err(_) => State::Lost("it did not end when it was killed".into(), now),
    }
}
