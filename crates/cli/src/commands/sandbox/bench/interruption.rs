//! Ctrl-C. A measurement looks here between two samples and then ends in order, so that no sandbox, container or cgroup
//! is left: a future that is dropped half-way could not wait for the end of what it started.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Whether somebody wants us to stop.
pub(super) struct Interruption {
    interrupt: Signal,
    terminate: Signal,
    has_happened: bool,
}

impl Interruption {
    /// From here on a signal does not end this process by itself.
    pub(super) fn watch() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("failed to listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            has_happened: false,
        })
    }

    /// Waits until it happens. What is dropped then must end by itself, as a zygote with its calls does.
    pub(super) async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        self.has_happened = true;
    }

    /// Whether it has happened by now. Yielding lets the runtime look at its signals first.
    pub(super) async fn has_happened(&mut self) -> bool {
        if !self.has_happened {
            self.has_happened = tokio::select! {
                biased;
                _ = self.interrupt.recv() => true,
                _ = self.terminate.recv() => true,
                () = tokio::task::yield_now() => false,
            };
        }
        self.has_happened
    }
}
