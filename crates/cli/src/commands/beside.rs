//! Background threads of a run: dashboard, exporters, trainer. Each has its own runtime, so that the run never waits.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use menace_app::calling::runtime;

/// Thread with its own runtime; its work stops when this is dropped.
pub(super) struct BackgroundThread {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Reports the address of a background thread, or the error that kept it from starting.
pub(super) struct ReadyNotifier(Sender<anyhow::Result<SocketAddr>>);

impl ReadyNotifier {
    /// Reports that the thread listens on `address`.
    pub(super) fn at(&self, address: SocketAddr) {
        // The receiver waits for this, or was dropped.
        let _ = self.0.send(Ok(address));
    }
}

impl BackgroundThread {
    /// Starts work that listens on a port, and waits until it does.
    pub(super) fn listening<W, F>(name: &str, work: W) -> anyhow::Result<(Self, SocketAddr)>
    where
        W: FnOnce(ReadyNotifier) -> F + Send + 'static,
        F: Future<Output = anyhow::Result<()>>,
    {
        let (sender, ready) = mpsc::channel();
        let background = Self::start(name, ReadyNotifier(sender), work)?;
        let address = ready.recv()??;
        Ok((background, address))
    }

    /// Starts work without waiting for it.
    pub(super) fn working<F>(name: &str, work: impl FnOnce() -> F + Send + 'static) -> anyhow::Result<Self>
    where
        F: Future<Output = anyhow::Result<()>>,
    {
        let (sender, _) = mpsc::channel();
        Self::start(name, ReadyNotifier(sender), |_| work())
    }

    fn start<W, F>(name: &str, ready: ReadyNotifier, work: W) -> anyhow::Result<Self>
    where
        W: FnOnce(ReadyNotifier) -> F + Send + 'static,
        F: Future<Output = anyhow::Result<()>>,
    {
        let (end, ended) = oneshot::channel::<()>();
        let thread_name = name.to_owned();
        let thread = std::thread::Builder::new().name(thread_name.clone()).spawn(move || {
            let notifier = ReadyNotifier(ready.0.clone());
            let done = runtime().map_err(Into::into).and_then(|runtime| {
                runtime.block_on(async {
                    tokio::select! {
                        done = work(ready) => done,
                        _ = ended => Ok(()),
                    }
                })
            });
            // An error goes to the thread that waits for the address; later ones are logged, and the run continues.
            if let Err(error) = done
                && let Err(unsent) = notifier.0.send(Err(error))
                && let Err(error) = unsent.0
            {
                tracing::error!("{thread_name}: {error:#}");
            }
        })?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
