//! Caller's end of a sandbox channel: concurrent requests, each with its own answers.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use menace_isolation::channel;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::protocol::{InitReport, InitRequest};

/// Non-blocking end of a channel.
#[derive(Debug)]
pub(super) struct ChannelSocket(AsyncFd<OwnedFd>);

impl ChannelSocket {
    /// Makes one end of a channel non-blocking and registers it with the runtime.
    pub(super) fn new(end: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&end, fcntl_getfl(&end)? | OFlags::NONBLOCK)?;
        // SAFETY: an `OwnedFd` always returns the same descriptor and keeps it open until it is dropped.
        Ok(Self(unsafe { AsyncFd::register(end) }.map_err(io::Error::from)?))
    }

    /// Sends a message; waits while the send buffer is full.
    pub(super) async fn send<T: Serialize>(
        &self,
        message: &T,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        self.0.async_io(Interest::WRITABLE, |end| channel::send(end, message, descriptors)).await
    }

    /// Sends raw bytes, to an interpreter.
    pub(super) async fn send_bytes(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.0.async_io(Interest::WRITABLE, |end| channel::send_bytes(end.as_fd(), bytes, descriptors)).await
    }

    /// Receives raw bytes; `None` when the other end is closed.
    pub(super) async fn receive_bytes(&self) -> io::Result<Option<Vec<u8>>> {
        let mut buffer = vec![0; 4096];
        let length = self.0.async_io(Interest::READABLE, |end| Ok(rustix::io::read(end, &mut buffer)?)).await;
        match length {
            Ok(0) => Ok(None),
            Ok(length) => {
                buffer.truncate(length);
                Ok(Some(buffer))
            }
            // Closed while data of ours was unread.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Receives a message; `None` when the other end is closed.
    pub(super) async fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        self.0.async_io(Interest::READABLE, |end| channel::receive(end)).await
    }
}

/// Job number of the command that is requested together with the sandbox.
pub(super) const FIRST_JOB: u64 = 1;

/// Request channel to the init process of a sandbox.
#[derive(Debug)]
pub(super) struct InitChannel {
    socket: ChannelSocket,
    next_job: AtomicU64,
    listeners: Mutex<JobListeners>,
}

#[derive(Debug, Default)]
struct JobListeners {
    is_over: bool,
    by_job: HashMap<u64, UnboundedSender<ReceivedInitReport>>,
}

/// Report with the descriptors that came with it.
type ReceivedInitReport = (InitReport, Vec<OwnedFd>);

/// Answers to one request. Their number is small and does not depend on the program.
#[derive(Debug)]
pub(super) struct JobAnswers {
    job: u64,
    reports: UnboundedReceiver<ReceivedInitReport>,
    wire: Arc<InitChannel>,
}

impl InitChannel {
    /// Takes over the channel of a ready sandbox and listens until it is closed. The command that was requested with the
    /// sandbox has the number [`FIRST_JOB`], and its answers are the third value; `early` are those already received.
    pub(super) fn start(
        socket: ChannelSocket,
        early: Vec<InitReport>,
    ) -> (Arc<Self>, tokio::task::JoinHandle<()>, JobAnswers) {
        let wire = Arc::new(Self {
            socket,
            next_job: AtomicU64::new(FIRST_JOB + 1),
            listeners: Mutex::new(JobListeners::default()),
        });
        let (sender, reports) = unbounded_channel();
        wire.lock().by_job.insert(FIRST_JOB, sender);
        let answers = JobAnswers { job: FIRST_JOB, reports, wire: Arc::clone(&wire) };
        for report in early {
            wire.deliver_report(report, Vec::new());
        }
        let listening = Arc::clone(&wire);
        let task = tokio::spawn(async move {
            while let Ok(Some((report, descriptors))) = listening.socket.receive::<InitReport>().await {
                listening.deliver_report(report, descriptors);
            }
            listening.end();
        });
        (wire, task, answers)
    }

    /// Sends a request. `None` when the sandbox is gone.
    pub(super) async fn send_request(
        self: &Arc<Self>,
        request: impl FnOnce(u64) -> InitRequest,
        descriptors: &[BorrowedFd<'_>],
    ) -> Option<JobAnswers> {
        let job = self.next_job.fetch_add(1, Ordering::Relaxed);
        let (sender, reports) = unbounded_channel();
        {
            let mut listeners = self.lock();
            if listeners.is_over {
                return None;
            }
            listeners.by_job.insert(job, sender);
        }
        let answers = JobAnswers { job, reports, wire: Arc::clone(self) };
        self.socket.send(&request(job), descriptors).await.ok()?;
        Some(answers)
    }

    /// Sends a request that has no answer of its own. Errors are ignored: the sandbox may be gone.
    pub(super) async fn notify(&self, request: InitRequest) {
        if let Err(error) = self.socket.send(&request, &[]).await {
            tracing::debug!("failed to send to a sandbox: {error}");
        }
    }

    /// Ends all pending answers.
    pub(super) fn end(&self) {
        let mut listeners = self.lock();
        listeners.is_over = true;
        listeners.by_job.clear();
    }

    fn deliver_report(&self, report: InitReport, descriptors: Vec<OwnedFd>) {
        let (InitReport::Started { job }
        | InitReport::NotStarted { job, .. }
        | InitReport::Ended { job, .. }
        | InitReport::Inspected { job, .. }
        | InitReport::Signalled { job }
        | InitReport::Terminal { job }
        | InitReport::Connecting { job }) = report
        else {
            return;
        };
        if let Some(listener) = self.lock().by_job.get(&job) {
            // The requester may have dropped its receiver.
            drop(listener.send((report, descriptors)));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, JobListeners> {
        // No code panics while it holds the lock, and the map is consistent after every line.
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JobAnswers {
    /// Job number of the request.
    pub(super) fn job(&self) -> u64 {
        self.job
    }

    /// Next answer; `None` when the sandbox is gone.
    pub(super) async fn next(&mut self) -> Option<InitReport> {
        self.reports.recv().await.map(|(report, _)| report)
    }

    /// Next answer with the descriptor that came with it.
    pub(super) async fn next_with_descriptor(&mut self) -> Option<(InitReport, Option<OwnedFd>)> {
        self.reports.recv().await.map(|(report, descriptors)| (report, descriptors.into_iter().next()))
    }
}

impl Drop for JobAnswers {
    fn drop(&mut self) {
        self.wire.lock().by_job.remove(&self.job);
    }
}

impl AsFd for ChannelSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }
}
