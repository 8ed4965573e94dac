//! The caller's side of the launcher.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use menace_enter::StepError;
use menace_enter::root::Entry;

use super::channel;
use super::protocol::{Order, Preparation, Report};
use super::registry::Registration;
use super::wire::Socket;
use crate::SandboxError;

/// The first argument with which the binary becomes a launcher.
pub const LAUNCHER_ARGUMENT: &str = "__init";

/// A launcher that is ready for orders. It ends when this is dropped.
pub(super) struct Launcher {
    socket: Option<Socket>,
    process: Child,
}

impl Launcher {
    /// Starts it and waits until it is ready.
    pub(super) async fn start(
        executable: &Path,
        skeleton: Vec<Entry>,
        privileged: bool,
        registration: &Registration,
    ) -> Result<Self, SandboxError> {
        let (ours, theirs) = channel::pair().map_err(SandboxError::io("open a channel to the launcher"))?;
        let process = Command::new(executable)
            .arg(LAUNCHER_ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .spawn()
            .map_err(SandboxError::io("start the launcher"))?;
        registration.record_launcher(process.id())?;
        let socket = Socket::new(ours).map_err(SandboxError::io("watch the launcher"))?;
        let launcher = Self { socket: Some(socket), process };
        let preparation = Preparation { skeleton, privileged };
        let socket = launcher.socket.as_ref().expect("it is taken only when this is dropped");
        socket.send(&preparation, &[]).await.map_err(SandboxError::io("prepare the launcher"))?;
        match socket.receive().await.map_err(SandboxError::io("hear from the launcher"))? {
            Some((Report::Ready { .. }, _)) => Ok(launcher),
            Some((Report::Failed(error), _)) => Err(unsupported(&error)),
            Some((report, _)) => Err(SandboxError::Protocol(format!("the launcher answered {report:?}"))),
            None => Err(SandboxError::Protocol("the launcher ended before it was ready".into())),
        }
    }

    /// Orders a sandbox.
    pub(super) async fn order(&self, order: &Order, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        match &self.socket {
            Some(socket) => socket.send(order, descriptors).await,
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // The end of the channel is the end of the launcher, and its end is the end of what it launched.
        drop(self.socket.take());
        if let Err(error) = self.process.wait() {
            tracing::warn!("failed to wait for the launcher: {error}");
        }
    }
}

/// A step that the kernel refused, with what can be done about it.
pub(super) fn unsupported(error: &StepError) -> SandboxError {
    SandboxError::Unsupported {
        what: error.step.clone(),
        source: error.source(),
        hint: super::hints::hint_for(&error.step, error.errno),
    }
}
