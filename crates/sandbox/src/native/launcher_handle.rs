//! Caller's side of the launcher.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use menace_isolation::StepError;
use menace_isolation::root::SkeletonEntry;
use menace_model::ErrorDetails;
use rustix::process::{Pid, WaitOptions, waitpid};

use super::init_channel::ChannelSocket;
use super::launcher;
use super::protocol::{InitReport, LauncherPreparation, SandboxOrder};
use super::registry::BackendRegistration;
use crate::SandboxError;
use menace_isolation::channel;

/// First argument that makes the binary run as the launcher.
pub const LAUNCHER_ARGUMENT: &str = "__init";

/// Handle of a launcher process. Dropping it ends the launcher.
pub(super) struct Launcher {
    socket: Option<ChannelSocket>,
    process: LauncherProcess,
}

enum LauncherProcess {
    Started(Child),
    Forked(Pid),
}

impl Launcher {
    /// Starts the launcher, which then waits for its preparation.
    pub(super) fn start(executable: &Path, registration: &BackendRegistration) -> Result<Self, SandboxError> {
        let (ours, theirs) = channel::pair().map_err(SandboxError::io("open a channel to the launcher"))?;
        let process =
            LauncherProcess::start(executable, theirs).map_err(SandboxError::io("start the launcher"))?;
        registration.record_launcher(process.id())?;
        let socket = ChannelSocket::new(ours).map_err(SandboxError::io("watch the launcher"))?;
        Ok(Self { socket: Some(socket), process })
    }

    /// Prepares the launcher and waits until it accepts orders.
    pub(super) async fn prepare(
        &self,
        skeleton: Vec<SkeletonEntry>,
        privileged: bool,
    ) -> Result<(), SandboxError> {
        let preparation = LauncherPreparation { skeleton, privileged };
        let socket = self.socket.as_ref().expect("the socket is taken only when the launcher is dropped");
        socket.send(&preparation, &[]).await.map_err(SandboxError::io("prepare the launcher"))?;
        match socket.receive().await.map_err(SandboxError::io("receive from the launcher"))? {
            Some((InitReport::Ready { .. }, _)) => Ok(()),
            Some((InitReport::Failed(error), _)) => Err(unsupported(&error)),
            Some((report, _)) => {
                Err(SandboxError::Protocol(format!("unexpected answer from the launcher: {report:?}")))
            }
            None => Err(SandboxError::Protocol("the launcher ended before it was ready".into())),
        }
    }

    /// Orders a sandbox.
    pub(super) async fn order(&self, order: &SandboxOrder, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        match &self.socket {
            Some(socket) => socket.send(order, descriptors).await,
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl LauncherProcess {
    /// A single-threaded process is forked. One with several threads has to be started as a separate program, because
    /// a fork has only the thread that forked, and a lock that another thread held stays locked.
    fn start(executable: &Path, channel: OwnedFd) -> io::Result<Self> {
        if std::fs::read_dir("/proc/self/task")?.count() == 1 {
            // SAFETY: there is one thread, as was just counted, and only it could start another.
            return match unsafe { libc::fork() } {
                -1 => Err(io::Error::last_os_error()),
                0 => launcher::forked_main(&channel),
                pid => Ok(Self::Forked(Pid::from_raw(pid).expect("a child has a pid above zero"))),
            };
        }
        let child = Command::new(executable)
            .arg(LAUNCHER_ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(channel))
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self::Started(child))
    }

    fn id(&self) -> u32 {
        match self {
            Self::Started(child) => child.id(),
            Self::Forked(pid) => pid.as_raw_pid().cast_unsigned(),
        }
    }

    fn wait(&mut self) -> io::Result<()> {
        match self {
            Self::Started(child) => child.wait().map(drop),
            Self::Forked(pid) => Ok(waitpid(Some(*pid), WaitOptions::empty()).map(drop)?),
        }
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // Closing the channel ends the launcher, and with it everything that it launched.
        drop(self.socket.take());
        if let Err(error) = self.process.wait() {
            tracing::warn!("failed to wait for the launcher: {error}");
        }
    }
}

/// Error for a step that the kernel rejected, with a hint.
pub(super) fn unsupported(error: &StepError) -> SandboxError {
    SandboxError::Unsupported {
        what: error.step.clone(),
        source: error.source(),
        hint: error.hint().unwrap_or_default(),
    }
}
