//! Connects to the sandbox daemon and starts it if it is not running.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use menace_model::{ErrorClass, ErrorDetails};
use thiserror::Error;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::sync::Mutex;

use super::endpoint::DaemonEndpoint;

/// Timeout for the daemon to report that it is ready.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
/// Attempts to connect while another daemon exits or starts, and the pause between them.
const ATTEMPTS: u32 = 40;
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Failure to reach the sandbox daemon.
#[derive(Debug, Error)]
pub enum DaemonConnectError {
    /// The daemon could not be started.
    #[error("failed to start the sandbox daemon: {0}")]
    Start(#[source] io::Error),
    /// The daemon exited immediately or did not report that it is ready.
    #[error("the sandbox daemon did not start")]
    NotReady {
        /// Log file of the daemon.
        log: PathBuf,
    },
    /// The daemon does not accept connections.
    #[error("failed to connect to the sandbox daemon: {0}")]
    Connect(#[source] io::Error),
}

impl ErrorDetails for DaemonConnectError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Start(_) | Self::NotReady { .. } | Self::Connect(_) => ErrorClass::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotReady { log } => Some(format!("see {}", log.display())),
            Self::Start(_) | Self::Connect(_) => None,
        }
    }
}

/// Connects to the sandbox daemon and starts it on demand.
#[derive(Clone)]
pub struct DaemonConnector {
    place: DaemonEndpoint,
    /// Program and arguments that start the daemon.
    command: Arc<Vec<std::ffi::OsString>>,
    log: PathBuf,
    starting: Arc<Mutex<()>>,
}

impl DaemonConnector {
    /// Creates a client for the daemon at an endpoint.
    pub fn new(place: DaemonEndpoint, command: Vec<std::ffi::OsString>, log: PathBuf) -> Self {
        Self { place, command: Arc::new(command), log, starting: Arc::default() }
    }

    /// Connects to the daemon if it is running.
    pub async fn connect_if_there(&self) -> Result<Option<UnixStream>, DaemonConnectError> {
        match UnixStream::connect(self.place.socket()).await {
            Ok(stream) => Ok(Some(stream)),
            Err(error) if is_not_listening(&error) => Ok(None),
            Err(error) => Err(DaemonConnectError::Connect(error)),
        }
    }

    /// Connects to the daemon and starts it if it is not running.
    pub async fn connect(&self) -> Result<UnixStream, DaemonConnectError> {
        if let Some(stream) = self.connect_if_there().await? {
            return Ok(stream);
        }
        let _starting = self.starting.lock().await;
        let mut last = None;
        for _ in 0..ATTEMPTS {
            if let Some(stream) = self.connect_if_there().await? {
                return Ok(stream);
            }
            // A daemon that is shutting down still holds the lock, so the new one exits immediately and is started again.
            if let Err(error) = self.start().await {
                last = Some(error);
            }
            match self.connect_if_there().await? {
                Some(stream) => return Ok(stream),
                None => tokio::time::sleep(RETRY_INTERVAL).await,
            }
        }
        Err(last.unwrap_or(DaemonConnectError::NotReady { log: self.log.clone() }))
    }

    async fn start(&self) -> Result<(), DaemonConnectError> {
        let (program, arguments) = self
            .command
            .split_first()
            .ok_or_else(|| DaemonConnectError::Start(io::ErrorKind::InvalidInput.into()))?;
        let log =
            File::options().create(true).append(true).open(&self.log).map_err(DaemonConnectError::Start)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(DaemonConnectError::Start)?;
        let mut output = String::new();
        let stdout = child.stdout.take();
        let reading = async {
            match stdout {
                Some(stdout) => stdout.take(6).read_to_string(&mut output).await,
                None => Ok(0),
            }
        };
        let read = tokio::time::timeout(READY_TIMEOUT, reading).await;
        // The daemon may outlive this process. If it exits first, it has to be reaped.
        tokio::spawn(async move { child.wait().await });
        match read {
            Ok(Ok(_)) if output == "ready\n" => Ok(()),
            _ => Err(DaemonConnectError::NotReady { log: self.log.clone() }),
        }
    }
}

fn is_not_listening(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}
