//! Ctrl-C. A benchmark checks for it between two samples and then ends in order, so that no sandbox, container or
//! cgroup is left: a future that is dropped half-way could not wait for the end of the processes that it started.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT and SIGTERM of this process.
pub(crate) struct InterruptionSignals {
    interrupt: Signal,
    terminate: Signal,
    was_received: bool,
}

impl InterruptionSignals {
    /// Listens for the signals, which no longer end this process by themselves.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("failed to listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            was_received: false,
        })
    }

    /// Waits for a signal. What its caller drops then must clean up by itself, as a zygote with its calls does.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        self.was_received = true;
    }

    /// Whether a signal was received. Yielding lets the runtime look at its signals first.
    pub(crate) async fn was_received(&mut self) -> bool {
        if !self.was_received {
            self.was_received = tokio::select! {
                biased;
                _ = self.interrupt.recv() => true,
                _ = self.terminate.recv() => true,
                () = tokio::task::yield_now() => false,
            };
        }
        self.was_received
    }
}
