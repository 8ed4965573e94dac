//! How long a loop has run, written down while it runs, so that `--max-time` also holds for one that was killed.

use std::path::Path;
use std::time::{Duration, Instant};

use menace_analysis::write_atomically;
use tokio::task::JoinHandle;

const FILE: &str = "elapsed";
/// A loop that is killed loses at most so much of the time that it took.
const BETWEEN: Duration = Duration::from_secs(2);

/// Writes until it is dropped.
pub(super) struct ElapsedTimeWriter(JoinHandle<()>);

impl ElapsedTimeWriter {
    /// From now on, after so much was spent before.
    pub(super) fn start(directory: &Path, began: Instant, before: Duration) -> Self {
        let path = directory.join(FILE);
        Self(tokio::spawn(async move {
            loop {
                let seconds = (before + began.elapsed()).as_secs_f64();
                if let Err(error) = write_atomically(&path, format!("{seconds:.3}\n").as_bytes()) {
                    tracing::warn!("--max-time would not hold after a kill: {}: {error}", path.display());
                }
                tokio::time::sleep(BETWEEN).await;
            }
        }))
    }
}

impl Drop for ElapsedTimeWriter {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What was written down last: seconds.
pub(super) fn elapsed(directory: &Path) -> Option<f64> {
    std::fs::read_to_string(directory.join(FILE)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_earlier_parts_took_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(elapsed(directory.path()), None);
        let clock = ElapsedTimeWriter::start(directory.path(), Instant::now(), Duration::from_secs(40));
        tokio::task::yield_now().await;
        assert!(elapsed(directory.path()).unwrap() >= 40.0);
        drop(clock);
    }
}
