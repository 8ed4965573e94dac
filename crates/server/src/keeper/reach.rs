//! How others reach the process that holds sandboxes, which they start if there is none.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::sync::Mutex;

use super::place::Place;

/// How long it may take to begin.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is tried again while another process ends or begins.
const ATTEMPTS: u32 = 40;
const BETWEEN: Duration = Duration::from_millis(50);

/// Why it is not reached.
#[derive(Debug, Error)]
pub enum KeeperError {
    /// It could not be started.
    #[error("failed to start the process that holds sandboxes: {0}")]
    Start(#[source] io::Error),
    /// It ended at once, or said nothing.
    #[error("the process that holds sandboxes did not begin\nhint: {log} says why", log = log.display())]
    NotReady {
        /// Where it writes what it has to say.
        log: PathBuf,
    },
    /// It does not answer.
    #[error("failed to reach the process that holds sandboxes: {0}")]
    Connect(#[source] io::Error),
}

/// The way to the process that holds sandboxes.
#[derive(Clone)]
pub struct Keeper {
    place: Place,
    /// What is started if nobody answers: the program and its arguments.
    command: Arc<Vec<std::ffi::OsString>>,
    log: PathBuf,
    starting: Arc<Mutex<()>>,
}

impl Keeper {
    /// The way to the one of this place.
    pub fn new(place: Place, command: Vec<std::ffi::OsString>, log: PathBuf) -> Self {
        Self { place, command: Arc::new(command), log, starting: Arc::default() }
    }

    /// Connects to it, if it is there.
    pub async fn connect_if_there(&self) -> Result<Option<UnixStream>, KeeperError> {
        match UnixStream::connect(self.place.socket()).await {
            Ok(stream) => Ok(Some(stream)),
            Err(error) if is_nobody(&error) => Ok(None),
            Err(error) => Err(KeeperError::Connect(error)),
        }
    }

    /// Connects to it, and starts it if it is not there.
    pub async fn connect(&self) -> Result<UnixStream, KeeperError> {
        if let Some(stream) = self.connect_if_there().await? {
            return Ok(stream);
        }
        let _starting = self.starting.lock().await;
        let mut last = None;
        for _ in 0..ATTEMPTS {
            if let Some(stream) = self.connect_if_there().await? {
                return Ok(stream);
            }
            // One that ends at the same moment still has the lock, and so this one ends at once.
            if let Err(error) = self.start().await {
                last = Some(error);
            }
            match self.connect_if_there().await? {
                Some(stream) => return Ok(stream),
                None => tokio::time::sleep(BETWEEN).await,
            }
        }
        Err(last.unwrap_or(KeeperError::NotReady { log: self.log.clone() }))
    }

    async fn start(&self) -> Result<(), KeeperError> {
        let (program, arguments) = self
            .command
            .split_first()
            .ok_or_else(|| KeeperError::Start(io::ErrorKind::InvalidInput.into()))?;
        let log = File::options().create(true).append(true).open(&self.log).map_err(KeeperError::Start)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(KeeperError::Start)?;
        let mut said = String::new();
        let stdout = child.stdout.take();
        let heard = async {
            match stdout {
                Some(stdout) => stdout.take(6).read_to_string(&mut said).await,
                None => Ok(0),
            }
        };
        let heard = tokio::time::timeout(PATIENCE, heard).await;
        // It outlives us; whoever is left when it ends is not our business, but its end has to be noticed while we are here.
        tokio::spawn(async move { child.wait().await });
        match heard {
            Ok(Ok(_)) if said == "ready\n" => Ok(()),
            _ => Err(KeeperError::NotReady { log: self.log.clone() }),
        }
    }
}

fn is_nobody(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}
