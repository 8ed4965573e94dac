//! Whether the user wants an end.

use std::sync::OnceLock;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::exit::MenaceExit;
use crate::terminal::note;

/// Becomes true when the user wants an end. From the first one who asks on, all of the process hears the same, so that what comes
/// between two parts of the work is not lost.
pub(crate) fn asked_to_stop() -> watch::Receiver<bool> {
    static ASKED: OnceLock<watch::Receiver<bool>> = OnceLock::new();
    let listen = || {
        let (stopper, asked) = watch::channel(false);
        tokio::spawn(stop_when_asked(stopper));
        asked
    };
    ASKED.get_or_init(listen).clone()
}

/// The first interruption lets the calls that are under way end; the second ends menace.
async fn stop_when_asked(stopper: watch::Sender<bool>) {
    let mut terminate = signal(SignalKind::terminate()).ok();
    for first in [true, false] {
        let asked = async {
            match &mut terminate {
                Some(terminate) => tokio::select! {
                    _ = tokio::signal::ctrl_c() => {}
                    _ = terminate.recv() => {}
                },
                None => drop(tokio::signal::ctrl_c().await),
            }
        };
        asked.await;
        if !first {
            // What is left is removed by the launcher, which notices the end of this process.
            std::process::exit(i32::from(MenaceExit::Interrupted.code()));
        }
        note("stopping after the calls that are under way; once more ends at once");
        stopper.send_replace(true);
    }
}
