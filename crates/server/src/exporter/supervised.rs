//! A supervised exporter: it is checked periodically and restarted when it does not respond.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::endpoint::{Exporter, ExporterError, MetricsSource};

/// Timeout of a health check.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause before binding the port is retried.
const PAUSE: Duration = Duration::from_secs(1);

/// An exporter with health checks and restarts.
pub struct SupervisedExporter<C> {
    collect: Arc<C>,
    address: SocketAddr,
    variable: &'static str,
    every: Duration,
    restarts: Arc<AtomicU64>,
    serving: JoinHandle<Result<(), ExporterError>>,
}

impl<C: MetricsSource> SupervisedExporter<C> {
    /// Starts an exporter that is checked at an interval; `restarts` counts its restarts.
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

    /// Address of the exporter.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Checks and restarts the exporter until dropped.
    pub async fn watch(mut self) {
        loop {
            tokio::time::sleep(self.every).await;
            let problem = match tokio::time::timeout(HEALTH_TIMEOUT, check_health(self.address)).await {
                Ok(Ok(())) => continue,
                Ok(Err(problem)) => problem,
                Err(_) => format!("no response within {HEALTH_TIMEOUT:?}"),
            };
            tracing::warn!("restarting the exporter at {}: {problem}", self.address);
            self.restart().await;
        }
    }

    async fn restart(&mut self) {
        self.serving.abort();
        // The port is free once the task has dropped its listener.
        let _cancelled = (&mut self.serving).await;
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

impl<C> Drop for SupervisedExporter<C> {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Checks the health of an exporter with a request to `/health`.
async fn check_health(address: SocketAddr) -> Result<(), String> {
    let request = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = request.await.map_err(|error| error.to_string())?;
    let status = answer.split(' ').nth(1).unwrap_or_default();
    if status == "200" { Ok(()) } else { Err(answer.lines().last().unwrap_or("no response").to_owned()) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[derive(Default)]
    struct FailingMetricsSource {
        is_sick: AtomicBool,
    }

    impl MetricsSource for FailingMetricsSource {
        async fn text(&self) -> Result<String, String> {
            if self.is_sick.load(Ordering::Relaxed) { Err("no file".into()) } else { Ok("a 1\n".into()) }
        }
    }

    #[tokio::test]
    async fn an_unhealthy_exporter_is_restarted_at_the_same_address_and_counted() {
        let (collect, restarts) = (Arc::new(FailingMetricsSource::default()), Arc::new(AtomicU64::new(0)));
        let every = Duration::from_millis(5);
        let watched =
            SupervisedExporter::start(Arc::clone(&collect), (0, "PORT"), every, Arc::clone(&restarts))
                .await
                .unwrap();
        let address = watched.address();
        let watching = tokio::spawn(watched.watch());
        check_health(address).await.unwrap();
        assert_eq!(restarts.load(Ordering::Relaxed), 0);
        collect.is_sick.store(true, Ordering::Relaxed);
        let problem = check_health(address).await.unwrap_err();
        assert!(problem.contains("no file"), "{problem}");
        while restarts.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        collect.is_sick.store(false, Ordering::Relaxed);
        while check_health(address).await.is_err() {
            tokio::task::yield_now().await;
        }
        watching.abort();
        assert!(watching.await.unwrap_err().is_cancelled());
        while check_health(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    }
}
