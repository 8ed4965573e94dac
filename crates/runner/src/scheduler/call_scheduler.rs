//! Makes calls: alone, in a batch, or all calls of a source.

use std::future::Future;
use std::sync::Arc;

use menace_sandbox::SandboxError;

use super::batch::CallBatch;
use super::call_list::CallList;
use super::slots::{CallNeeds, CallSlots, run_all};
use crate::call::Call;
use crate::early_reruns::{RerunHandle, RerunStarter};
use crate::executor::CallExecutor;
use crate::outcome::CallOutcome;

/// Makes calls on an executor and classifies their outcomes.
#[derive(Clone)]
pub struct CallScheduler {
    executor: Arc<dyn CallExecutor>,
    /// Number of ordinary calls that run concurrently.
    parallel: usize,
}

/// Source of calls that are scheduled one batch after the other.
pub(crate) trait CallSource: Send {
    /// Error of the source or of the executor.
    type Error: From<SandboxError>;

    /// Needs of the next batch; `None` if there is none. Asked once for each batch.
    fn next_needs(&mut self) -> Option<CallNeeds>;

    /// Takes the next batch, for which there is room now. It is empty if its calls need not be made; `None` ends the
    /// source early.
    fn next_batch(&mut self) -> impl Future<Output = Result<Option<CallBatch>, Self::Error>> + Send;

    /// Starter of reruns of calls that wait for the network for long.
    fn early_reruns(&self) -> Option<RerunStarter> {
        None
    }

    /// Receives a batch with its outcomes, in the order in which batches end.
    fn batch_ended(&mut self, ended: FinishedBatch) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// A batch with its outcomes.
pub(crate) struct FinishedBatch {
    pub(crate) batch: CallBatch,
    pub(crate) outcomes: Vec<CallOutcome>,
    /// Rerun of the only call, which was started while the call waited.
    pub(crate) early_rerun: Option<RerunHandle>,
}

impl CallScheduler {
    /// Creates a scheduler for a number of concurrent ordinary calls.
    pub fn new(executor: &Arc<dyn CallExecutor>, parallel: usize) -> Self {
        Self { executor: Arc::clone(executor), parallel }
    }

    /// Makes calls concurrently and returns their outcomes in the order of the calls. Calls that starve the machine are
    /// made after all others, so that they do not affect them.
    pub async fn make_calls(&self, calls: &[Call]) -> Result<Vec<CallOutcome>, SandboxError> {
        let mut list = CallList::new(calls, self.parallel);
        self.run(&mut list).await?;
        list.outcomes()
    }

    /// Makes a call alone in its own sandbox.
    pub(crate) async fn make_call(&self, call: &Call) -> Result<CallOutcome, SandboxError> {
        Ok(CallOutcome::of(&self.executor.execute(&call.spec()).await?, call))
    }

    /// Makes calls that share an import, one after the other.
    pub(crate) async fn make_batch(&self, calls: &[Call]) -> Result<Vec<CallOutcome>, SandboxError> {
        let first = match calls {
            [] => return Ok(Vec::new()),
            // A call has to have the same outcome in a batch as alone.
            [alone] => return Ok(vec![self.make_call(alone).await?]),
            [first, ..] => first,
        };
        let specs: Vec<_> = calls.iter().map(Call::spec).collect();
        let raw = self.executor.execute_batch(&first.module, &specs).await?;
        Ok(raw.iter().zip(calls).map(|(raw, call)| CallOutcome::of(raw, call)).collect())
    }

    /// Makes calls concurrently, each alone in its own sandbox.
    pub(crate) async fn make_each_alone(&self, calls: &[Call]) -> Result<Vec<CallOutcome>, SandboxError> {
        let jobs = calls.iter().cloned().map(|call| {
            let scheduler = self.clone();
            async move { scheduler.make_call(&call).await }
        });
        run_all(self.parallel, jobs, || {}).await
    }

    /// Makes all calls of a source.
    pub(crate) async fn run<S: CallSource>(&self, source: &mut S) -> Result<(), S::Error> {
        let mut slots = CallSlots::new(self.parallel);
        while let Some(needs) = source.next_needs() {
            while !slots.has_room(needs) {
                let Some(ended) = slots.next().await else { break };
                source.batch_ended(ended??).await?;
            }
            let Some(batch) = source.next_batch().await? else { break };
            if !batch.is_empty() {
                slots.start(needs, self.clone().finish_batch(batch, source.early_reruns()));
            }
        }
        while let Some(ended) = slots.next().await {
            source.batch_ended(ended??).await?;
        }
        Ok(())
    }

    async fn finish_batch(
        self,
        batch: CallBatch,
        reruns: Option<RerunStarter>,
    ) -> Result<FinishedBatch, SandboxError> {
        let (outcomes, early_rerun) = match (&batch[..], reruns) {
            ([(_, alone)], Some(reruns)) => {
                let (outcome, rerun) = reruns.make_call(&self, alone).await?;
                (vec![outcome], rerun)
            }
            (together, _) => {
                let calls: Vec<Call> = together.iter().map(|(_, call)| call.clone()).collect();
                (self.make_batch(&calls).await?, None)
            }
        };
        Ok(FinishedBatch { batch, outcomes, early_rerun })
    }
}
