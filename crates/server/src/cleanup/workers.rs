//! Background workers, restarted when they end.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;

type WorkerFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Background workers. Dropping this aborts them.
pub(crate) struct BackgroundWorkers {
    workers: Mutex<Vec<BackgroundWorker>>,
}

struct BackgroundWorker {
    name: &'static str,
    begin: Box<dyn Fn() -> WorkerFuture + Send>,
    task: JoinHandle<()>,
}

impl BackgroundWorkers {
    /// Creates a set without workers.
    pub(crate) fn new() -> Self {
        Self { workers: Mutex::default() }
    }

    /// Starts a worker.
    pub(crate) fn start(&self, name: &'static str, begin: impl Fn() -> WorkerFuture + Send + 'static) {
        let task = tokio::spawn(run_logged(name, begin()));
        let worker = BackgroundWorker { name, begin: Box::new(begin), task };
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }

    /// Restarts ended workers periodically; never returns.
    pub(crate) async fn restart_periodically(&self, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            self.restart_ended();
        }
    }

    /// Restarts workers that have ended and returns their number.
    pub(crate) fn restart_ended(&self) -> usize {
        let mut started = 0;
        for worker in self.workers.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            if worker.task.is_finished() {
                tracing::warn!("restarting the {} worker", worker.name);
                worker.task = tokio::spawn(run_logged(worker.name, (worker.begin)()));
                started += 1;
            }
        }
        started
    }
}

impl Drop for BackgroundWorkers {
    fn drop(&mut self) {
        let workers = self.workers.get_mut().unwrap_or_else(PoisonError::into_inner);
        for worker in workers {
            worker.task.abort();
        }
    }
}

/// Runs a worker and logs its end: a return, a panic or an abort.
async fn run_logged(name: &'static str, work: WorkerFuture) {
    struct WorkerEndLogger(&'static str);
    impl Drop for WorkerEndLogger {
        fn drop(&mut self) {
            tracing::info!("{} worker cancelled", self.0);
        }
    }
    let _end = WorkerEndLogger(name);
    work.await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn ended_workers_are_restarted_and_running_ones_are_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let crew = BackgroundWorkers::new();
            let begun = Arc::new(AtomicUsize::new(0));
            let (count, running) = (Arc::clone(&begun), Arc::new(tokio::sync::Notify::new()));
            let notify = Arc::clone(&running);
            crew.start("cleanup", move || {
                let (count, notify) = (Arc::clone(&count), Arc::clone(&notify));
                Box::pin(async move {
                    assert!(count.fetch_add(1, Ordering::SeqCst) > 0, "the first worker panics");
                    notify.notify_one();
                    std::future::pending::<()>().await;
                })
            });
            crew.start("reaper", || Box::pin(std::future::pending()));
            let supervision = crew.restart_periodically(Duration::from_millis(1));
            tokio::select! {
                () = supervision => {}
                () = running.notified() => {}
            }
            assert_eq!(begun.load(Ordering::SeqCst), 2);
            assert_eq!(crew.restart_ended(), 0, "both are running");
        });
    }
}
