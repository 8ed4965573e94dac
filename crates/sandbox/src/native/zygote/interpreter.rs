//! Warm interpreter, shared by all limits of calls: limits belong to the slot of a call, not to the interpreter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use super::base_sandbox::BaseSandbox;
use super::isolated_calls::ZygoteOptions;
use crate::SandboxError;
use crate::native::backend::NativeBackendState;

/// Warm interpreter that is started on first use and restarted when it died.
pub(super) struct ZygoteInterpreter {
    shared: Arc<NativeBackendState>,
    options: ZygoteOptions,
    base: Mutex<Option<Arc<BaseSandbox>>>,
    starts: AtomicU64,
}

impl ZygoteInterpreter {
    /// Creates the handle without starting the interpreter. `parallel` is the maximum number of concurrent calls.
    pub(super) fn new(
        shared: &Arc<NativeBackendState>,
        options: &ZygoteOptions,
        parallel: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            options: ZygoteOptions { parallel, ..options.clone() },
            base: Mutex::new(None),
            starts: AtomicU64::new(0),
        })
    }

    /// Number of restarts.
    pub(super) fn restarts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed).saturating_sub(1)
    }

    pub(super) async fn base(&self) -> Result<Arc<BaseSandbox>, SandboxError> {
        let mut base = self.base.lock().await;
        if let Some(base) = &*base {
            return Ok(Arc::clone(base));
        }
        let started = Arc::new(BaseSandbox::start(&self.shared, &self.options).await?);
        self.starts.fetch_add(1, Ordering::Relaxed);
        *base = Some(Arc::clone(&started));
        Ok(started)
    }

    /// Forgets a dead interpreter, unless another call has replaced it already.
    pub(super) async fn give_up(&self, dead: &Arc<BaseSandbox>) {
        let mut base = self.base.lock().await;
        if base.as_ref().is_some_and(|current| Arc::ptr_eq(current, dead)) {
            *base = None;
        }
    }
}
