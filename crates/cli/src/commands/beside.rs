//! What runs beside a loop, on a thread of its own, so that neither waits for the other.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use menace_app::calling::runtime;

/// Something that runs until this is dropped.
pub(super) struct BackgroundThread {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Who is told that it runs, and where, or why it does not.
pub(super) struct ReadyNotifier(Sender<anyhow::Result<SocketAddr>>);

impl ReadyNotifier {
    /// Says that it runs.
    pub(super) fn at(&self, address: SocketAddr) {
        // Who started it waits for this, or is gone.
        let _ = self.0.send(Ok(address));
    }
}

impl BackgroundThread {
    /// Starts something that listens, and waits until it does.
    pub(super) fn listening<W, F>(name: &str, work: W) -> anyhow::Result<(Self, SocketAddr)>
    where
        W: FnOnce(ReadyNotifier) -> F + Send + 'static,
        F: Future<Output = anyhow::Result<()>>,
    {
        let (sender, ready) = mpsc::channel();
        let beside = Self::start(name, ReadyNotifier(sender), work)?;
        let address = ready.recv()??;
        Ok((beside, address))
    }

    /// Starts something that is not waited for.
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
        let who = name.to_owned();
        let thread = std::thread::Builder::new().name(who.clone()).spawn(move || {
            let told = ReadyNotifier(ready.0.clone());
            let done = runtime().map_err(Into::into).and_then(|runtime| {
                runtime.block_on(async {
                    tokio::select! {
                        done = work(ready) => done,
                        _ = ended => Ok(()),
                    }
                })
            });
            // Whoever waits for the address is told; after that nobody is, and the loop goes on.
            if let Err(error) = done
                && let Err(unheard) = told.0.send(Err(error))
                && let Err(error) = unheard.0
            {
                tracing::error!("{who}: {error:#}");
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
