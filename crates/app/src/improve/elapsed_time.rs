//! Elapsed time of a run, recorded while it runs, so that `--max-time` also counts the time before a kill.

use std::path::Path;
use std::time::{Duration, Instant};

use menace_analysis::write_atomically;
use tokio::task::JoinHandle;

const FILE: &str = "elapsed";
/// Interval between writes: the time that a killed run loses at most.
const WRITE_INTERVAL: Duration = Duration::from_secs(2);

/// Writes the elapsed time periodically until it is dropped.
pub(super) struct ElapsedTimeWriter(JoinHandle<()>);

impl ElapsedTimeWriter {
    /// Starts writing. `before` is the time that earlier parts of the run took.
    pub(super) fn start(directory: &Path, began: Instant, before: Duration) -> Self {
        let path = directory.join(FILE);
        Self(tokio::spawn(async move {
            loop {
                let seconds = (before + began.elapsed()).as_secs_f64();
                if let Err(error) = write_atomically(&path, format!("{seconds:.3}\n").as_bytes()) {
                    tracing::warn!(
                        "failed to write {}: {error}; after a kill, --max-time would not count this time",
                        path.display()
                    );
                }
                tokio::time::sleep(WRITE_INTERVAL).await;
            }
        }))
    }
}

impl Drop for ElapsedTimeWriter {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Recorded time in seconds.
pub(super) fn elapsed(directory: &Path) -> Option<f64> {
    std::fs::read_to_string(directory.join(FILE)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn time_of_earlier_parts_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(elapsed(directory.path()), None);
        let clock = ElapsedTimeWriter::start(directory.path(), Instant::now(), Duration::from_secs(40));
        tokio::task::yield_now().await;
        assert!(elapsed(directory.path()).unwrap() >= 40.0);
        drop(clock);
    }
}
