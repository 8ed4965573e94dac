//! Workers that never end, and are started again if they do.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Workers. They end with this.
pub(crate) struct Crew {
    workers: Mutex<Vec<Worker>>,
}

struct Worker {
    name: &'static str,
    begin: Box<dyn Fn() -> Work + Send>,
    task: JoinHandle<()>,
}

impl Crew {
    /// Nobody yet.
    pub(crate) fn new() -> Self {
        Self { workers: Mutex::default() }
    }

    /// Starts one.
    pub(crate) fn start(&self, name: &'static str, begin: impl Fn() -> Work + Send + 'static) {
        let task = tokio::spawn(told(name, begin()));
        let worker = Worker { name, begin: Box::new(begin), task };
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }

    /// Looks after them, for ever.
    pub(crate) async fn look_after(&self, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            self.check();
        }
    }

    /// Starts those again that have ended; how many.
    pub(crate) fn check(&self) -> usize {
        let mut started = 0;
        for worker in self.workers.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            if worker.task.is_finished() {
                tracing::warn!("{} worker is started again", worker.name);
                worker.task = tokio::spawn(told(worker.name, (worker.begin)()));
                started += 1;
            }
        }
        started
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        let workers = self.workers.get_mut().unwrap_or_else(PoisonError::into_inner);
        for worker in workers {
            worker.task.abort();
        }
    }
}

/// Does the work of a worker, and says when that ends, however it does.
async fn told(name: &'static str, work: Work) {
    struct End(&'static str);
    impl Drop for End {
        fn drop(&mut self) {
            tracing::info!("{} worker cancelled", self.0);
        }
    }
    let _end = End(name);
    work.await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_worker_that_has_ended_is_started_again_and_one_that_works_is_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let crew = Crew::new();
            let begun = Arc::new(AtomicUsize::new(0));
            let (count, works) = (Arc::clone(&begun), Arc::new(tokio::sync::Notify::new()));
            let told = Arc::clone(&works);
            crew.start("cleanup", move || {
                let (count, told) = (Arc::clone(&count), Arc::clone(&told));
                Box::pin(async move {
                    assert!(count.fetch_add(1, Ordering::SeqCst) > 0, "the first one ends with a panic");
                    told.notify_one();
                    std::future::pending::<()>().await;
                })
            });
            crew.start("reaper", || Box::pin(std::future::pending()));
            let looking = crew.look_after(Duration::from_millis(1));
            tokio::select! {
                () = looking => {}
                () = works.notified() => {}
            }
            assert_eq!(begun.load(Ordering::SeqCst), 2);
            assert_eq!(crew.check(), 0, "both work");
        });
    }
}
