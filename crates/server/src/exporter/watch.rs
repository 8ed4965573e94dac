//! An exporter that is looked after: whether it answers is asked now and then, and one that does not is started again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::listen::{Collect, Exporter, ExporterError};

/// How long an exporter may take to say that it is well.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long is waited before a port is tried again that could not be taken.
const PAUSE: Duration = Duration::from_secs(1);

/// An exporter and who looks after it.
pub struct Watched<C> {
    collect: Arc<C>,
    address: SocketAddr,
    variable: &'static str,
    every: Duration,
    restarts: Arc<AtomicU64>,
    serving: JoinHandle<Result<(), ExporterError>>,
}

impl<C: Collect> Watched<C> {
    /// Starts an exporter that is asked so often; `restarts` counts how often it had to be started again.
    pub async fn start(
        collect: Arc<C>,
        (port, variable): (u16, &'static str),
        every: Duration,
        restarts: Arc<AtomicU64>,
    ) -> Result<Self, ExporterError> {
        let exporter = Exporter::listen(Arc::clone(&collect), port, variable).await?;
        let address = exporter.address().map_err(ExporterError::Serve)?;
        let serving = tokio::spawn(exporter.serve());
        Ok(Self { collect, address, variable, every, restarts, serving })
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Looks after it until this is dropped.
    pub async fn watch(mut self) {
        loop {
            tokio::time::sleep(self.every).await;
            let problem = match tokio::time::timeout(PATIENCE, is_well(self.address)).await {
                Ok(Ok(())) => continue,
                Ok(Err(problem)) => problem,
                Err(_) => format!("it said nothing for {PATIENCE:?}"),
            };
            tracing::warn!("the exporter at {} is started again: {problem}", self.address);
            self.restart().await;
        }
    }

    async fn restart(&mut self) {
        self.serving.abort();
        // The port is free when nobody has the listener any more.
        let _it_was_ended = (&mut self.serving).await;
        self.restarts.fetch_add(1, Ordering::Relaxed);
        loop {
            match Exporter::listen(Arc::clone(&self.collect), self.address.port(), self.variable).await {
                Ok(exporter) => {
                    self.serving = tokio::spawn(exporter.serve());
                    return;
                }
                Err(error) => tracing::error!("{error}"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl<C> Drop for Watched<C> {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Asks an exporter how it is, as anybody would.
async fn is_well(address: SocketAddr) -> Result<(), String> {
    let asked = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = asked.await.map_err(|error| error.to_string())?;
    let status = answer.split(' ').nth(1).unwrap_or_default();
    if status == "200" { Ok(()) } else { Err(answer.lines().last().unwrap_or("no answer").to_owned()) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[derive(Default)]
    struct Sick {
        is_sick: AtomicBool,
    }

    impl Collect for Sick {
        async fn text(&self) -> Result<String, String> {
            if self.is_sick.load(Ordering::Relaxed) { Err("no file".into()) } else { Ok("a 1\n".into()) }
        }
    }

    #[tokio::test]
    async fn what_is_not_well_is_started_again_at_the_same_place_and_that_is_counted() {
        let (collect, restarts) = (Arc::new(Sick::default()), Arc::new(AtomicU64::new(0)));
        let every = Duration::from_millis(5);
        let watched =
            Watched::start(Arc::clone(&collect), (0, "PORT"), every, Arc::clone(&restarts)).await.unwrap();
        let address = watched.address();
        let watching = tokio::spawn(watched.watch());
        is_well(address).await.unwrap();
        assert_eq!(restarts.load(Ordering::Relaxed), 0);
        collect.is_sick.store(true, Ordering::Relaxed);
        let problem = is_well(address).await.unwrap_err();
        assert!(problem.contains("no file"), "{problem}");
        while restarts.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        collect.is_sick.store(false, Ordering::Relaxed);
        while is_well(address).await.is_err() {
            tokio::task::yield_now().await;
        }
        watching.abort();
        assert!(watching.await.unwrap_err().is_cancelled());
        while is_well(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    }
}
