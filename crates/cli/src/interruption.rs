//! Interruption by Ctrl-C or SIGTERM: the first request lets calls in progress end, the second ends menace.

use std::sync::OnceLock;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::exit::MenaceExit;
use crate::terminal::note;

/// Flag that becomes true at the first request. All receivers of the process share one listener, so that no request is
/// lost between two steps of a command.
pub(crate) fn interruption() -> watch::Receiver<bool> {
    static REQUESTED: OnceLock<watch::Receiver<bool>> = OnceLock::new();
    let listen = || {
        let (stopper, requested) = watch::channel(false);
        tokio::spawn(listen_for_signals(stopper));
        requested
    };
    REQUESTED.get_or_init(listen).clone()
}

async fn listen_for_signals(stopper: watch::Sender<bool>) {
    let mut terminate = signal(SignalKind::terminate()).ok();
    for first in [true, false] {
        let requested = async {
            match &mut terminate {
                Some(terminate) => tokio::select! {
                    _ = tokio::signal::ctrl_c() => {}
                    _ = terminate.recv() => {}
                },
                None => drop(tokio::signal::ctrl_c().await),
            }
        };
        requested.await;
        if !first {
            // The launcher notices the end of this process and removes its sandboxes.
            std::process::exit(i32::from(MenaceExit::Interrupted.code()));
        }
        note("stopping after the calls in progress; press Ctrl-C again to stop immediately");
        stopper.send_replace(true);
    }
}
