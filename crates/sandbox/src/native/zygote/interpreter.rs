//! The interpreter that waits: one for all limits that calls have, because it is the place of a call that has them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use super::base::Base;
use super::calls::ZygoteOptions;
use crate::SandboxError;
use crate::native::backend::Shared;

/// A waiting interpreter that is started when it is needed, and again when it died.
pub(super) struct Interpreter {
    shared: Arc<Shared>,
    options: ZygoteOptions,
    base: Mutex<Option<Arc<Base>>>,
    starts: AtomicU64,
}

impl Interpreter {
    /// Nothing is started yet. At most so many calls run at once.
    pub(super) fn new(shared: &Arc<Shared>, options: &ZygoteOptions, parallel: usize) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            options: ZygoteOptions { parallel, ..options.clone() },
            base: Mutex::new(None),
            starts: AtomicU64::new(0),
        })
    }

    /// How often it had to be started again.
    pub(super) fn restarts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed).saturating_sub(1)
    }

    pub(super) async fn base(&self) -> Result<Arc<Base>, SandboxError> {
        let mut base = self.base.lock().await;
        if let Some(base) = &*base {
            return Ok(Arc::clone(base));
        }
        let started = Arc::new(Base::start(&self.shared, &self.options).await?);
        self.starts.fetch_add(1, Ordering::Relaxed);
        *base = Some(Arc::clone(&started));
        Ok(started)
    }

    /// Forgets one that is dead, unless somebody else has already.
    pub(super) async fn give_up(&self, dead: &Arc<Base>) {
        let mut base = self.base.lock().await;
        if base.as_ref().is_some_and(|current| Arc::ptr_eq(current, dead)) {
            *base = None;
        }
    }
}
