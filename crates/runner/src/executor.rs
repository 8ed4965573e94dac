//! The executor of calls, and its implementation by local zygotes.

use std::future::Future;
use std::pin::Pin;

use menace_model::calls::{CallSpec, RawOutcome};
use menace_sandbox::SandboxError;
use menace_sandbox::native::ZygotePool;

/// Executor of isolated calls, on this machine or on another.
pub trait CallExecutor: Send + Sync {
    /// Makes a call. A failure of the called code is an outcome, never an error.
    fn execute<'a>(
        &'a self,
        call: &'a CallSpec,
    ) -> Pin<Box<dyn Future<Output = Result<RawOutcome, SandboxError>> + Send + 'a>>;

    /// Makes calls of one module under the same limits, which may share its import as long as the sharing has no
    /// observable effect. The outcomes are in the order of the calls.
    fn execute_batch<'a>(&'a self, module: &'a str, calls: &'a [CallSpec]) -> BatchFuture<'a>;
}

/// Future of the outcomes of a batch.
pub type BatchFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<RawOutcome>, SandboxError>> + Send + 'a>>;

impl CallExecutor for ZygotePool {
    fn execute<'a>(
        &'a self,
        call: &'a CallSpec,
    ) -> Pin<Box<dyn Future<Output = Result<RawOutcome, SandboxError>> + Send + 'a>> {
        Box::pin(self.call(call))
    }

    fn execute_batch<'a>(&'a self, module: &'a str, calls: &'a [CallSpec]) -> BatchFuture<'a> {
        Box::pin(self.call_batch(module, calls))
    }
}
