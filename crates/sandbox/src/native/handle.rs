//! The caller's side of the launcher.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use menace_enter::StepError;
use menace_enter::root::Entry;
use rustix::process::{Pid, WaitOptions, waitpid};

use super::launcher;
use super::protocol::{Order, Preparation, Report};
use super::registry::Registration;
use super::wire::Socket;
use crate::SandboxError;
use menace_enter::channel;

/// The first argument with which the binary becomes a launcher.
pub const LAUNCHER_ARGUMENT: &str = "__init";

/// A launcher. It ends when this is dropped.
pub(super) struct Launcher {
    socket: Option<Socket>,
    process: LauncherProcess,
}

enum LauncherProcess {
    Started(Child),
    Forked(Pid),
}

impl Launcher {
    /// Starts it. It waits for its preparation.
    pub(super) fn start(executable: &Path, registration: &Registration) -> Result<Self, SandboxError> {
        let (ours, theirs) = channel::pair().map_err(SandboxError::io("open a channel to the launcher"))?;
        let process =
            LauncherProcess::start(executable, theirs).map_err(SandboxError::io("start the launcher"))?;
        registration.record_launcher(process.id())?;
        let socket = Socket::new(ours).map_err(SandboxError::io("watch the launcher"))?;
        Ok(Self { socket: Some(socket), process })
    }

    /// Prepares it and waits until it is ready for orders.
    pub(super) async fn prepare(&self, skeleton: Vec<Entry>, privileged: bool) -> Result<(), SandboxError> {
        let preparation = Preparation { skeleton, privileged };
        let socket = self.socket.as_ref().expect("it is taken only when this is dropped");
        socket.send(&preparation, &[]).await.map_err(SandboxError::io("prepare the launcher"))?;
        match socket.receive().await.map_err(SandboxError::io("hear from the launcher"))? {
            Some((Report::Ready { .. }, _)) => Ok(()),
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

impl LauncherProcess {
    /// A process with one thread is simply forked. One with several has to be started as a program of its own, because a
    /// fork has only the thread that forked, and whatever lock another one held stays locked.
    fn start(executable: &Path, channel: OwnedFd) -> io::Result<Self> {
        if std::fs::read_dir("/proc/self/task")?.count() == 1 {
            // SAFETY: there is one thread, as was just counted, and only it could start another.
            return match unsafe { libc::fork() } {
                -1 => Err(io::Error::last_os_error()),
                0 => launcher::forked_main(&channel),
                pid => Ok(Self::Forked(Pid::from_raw(pid).expect("a child has a number above zero"))),
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
