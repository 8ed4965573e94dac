//! Reruns that start while the first call is still waiting.
//!
//! A call that waits for an upstream that never answers uses all of its timeout, which is long, and no CPU. Its rerun
//! can run meanwhile, so that the run does not wait for the timeout twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use menace_model::calls::OutcomeKind;
use menace_sandbox::SandboxError;
use tokio::task::JoinHandle;

use crate::call::Call;
use crate::outcome::CallOutcome;
use crate::scheduler::CallScheduler;

/// Duration after which a call probably waits for an upstream that does not answer.
const SUSPICIOUS: Duration = Duration::from_secs(3);

/// Handle of a rerun.
pub(crate) type RerunHandle = JoinHandle<Result<CallOutcome, SandboxError>>;

/// Reruns that were started early, by the number of the first call.
#[derive(Default)]
pub(crate) struct EarlyReruns {
    by_number: BTreeMap<usize, RerunHandle>,
    twins: RerunStarter,
}

/// Starts reruns of waiting calls, one for each section under each scenario.
#[derive(Default, Clone)]
pub(crate) struct RerunStarter {
    cells: Arc<Mutex<BTreeSet<(String, String)>>>,
}

impl EarlyReruns {
    /// The starter of reruns.
    pub(crate) fn starter(&self) -> RerunStarter {
        self.twins.clone()
    }

    /// Stores a rerun until the failure is examined.
    pub(crate) fn keep(&mut self, number: usize, repetition: RerunHandle) {
        self.by_number.insert(number, repetition);
    }

    pub(crate) fn has(&self, number: usize) -> bool {
        self.by_number.contains_key(&number)
    }

    pub(crate) fn take(&mut self, number: usize) -> Option<RerunHandle> {
        self.by_number.remove(&number)
    }
}

impl Drop for EarlyReruns {
    fn drop(&mut self) {
        for repetition in self.by_number.values() {
            repetition.abort();
        }
    }
}

impl RerunStarter {
    /// Makes a call alone, and starts a rerun if the call waits for the network for long. The rerun is returned only
    /// if the first call timed out.
    pub(crate) async fn make_call(
        &self,
        scheduler: &CallScheduler,
        call: &Call,
    ) -> Result<(CallOutcome, Option<RerunHandle>), SandboxError> {
        self.make_call_unless(tokio::time::sleep(SUSPICIOUS), scheduler, call).await
    }

    async fn make_call_unless(
        &self,
        too_long: impl Future<Output = ()>,
        scheduler: &CallScheduler,
        call: &Call,
    ) -> Result<(CallOutcome, Option<RerunHandle>), SandboxError> {
        let first = scheduler.make_call(call);
        tokio::pin!(first);
        let outcome = tokio::select! {
            outcome = &mut first => Some(outcome),
            () = too_long, if call.circumstances.disturbs_network() => None,
        };
        if let Some(outcome) = outcome {
            return Ok((outcome?, None));
        }
        let twin = self.is_first_of(call).then(|| {
            let (scheduler, call) = (scheduler.clone(), call.clone());
            tokio::spawn(async move { scheduler.make_call(&call).await })
        });
        let outcome = first.await;
        let ended = outcome.as_ref().map_or(true, |one| one.verdict.kind != OutcomeKind::Timeout);
        if let (true, Some(twin)) = (ended, &twin) {
            twin.abort();
            // The call was slow but ended; another one of the section may time out.
            self.forget(call);
        }
        Ok((outcome?, twin.filter(|_| !ended)))
    }

    fn is_first_of(&self, call: &Call) -> bool {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner).insert(cell(call))
    }

    fn forget(&self, call: &Call) {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner).remove(&cell(call));
    }
}

/// Key of a cell: a slow call under one scenario says nothing about another.
fn cell(call: &Call) -> (String, String) {
    (call.section(), call.circumstances.scenario.clone())
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use menace_model::calls::{CallSpec, RawOutcome};
    use menace_model::harness::{CallReply, CallResult, ReturnedValue};
    use tokio::sync::Semaphore;

    use super::*;
    use crate::classify::tests::{call, raw};
    use crate::executor::{BatchFuture, CallExecutor};
    use crate::stubs::Stub;

    /// Executor whose calls block until the test releases them.
    struct BlockingExecutor {
        ends: bool,
        begun: AtomicUsize,
        gate: Semaphore,
    }

    impl CallExecutor for BlockingExecutor {
        fn execute<'a>(
            &'a self,
            _call: &'a CallSpec,
        ) -> Pin<Box<dyn Future<Output = Result<RawOutcome, SandboxError>> + Send + 'a>> {
            Box::pin(async move {
                self.begun.fetch_add(1, Ordering::Relaxed);
                self.gate.acquire().await.expect("the semaphore is never closed").forget();
                let done = CallReply::of(CallResult::Returned(ReturnedValue::default()));
                Ok(RawOutcome { timed_out: !self.ends, ..raw(done) })
            })
        }

        fn execute_batch<'a>(&'a self, _module: &'a str, _calls: &'a [CallSpec]) -> BatchFuture<'a> {
            unreachable!("this test makes no batches")
        }
    }

    /// Outcome of a slow call that is released once `under_way` calls have begun, and its rerun.
    async fn made(
        twins: &RerunStarter,
        preset: &str,
        ends: bool,
        under_way: usize,
    ) -> (OutcomeKind, Option<RerunHandle>) {
        let held = Arc::new(BlockingExecutor { ends, begun: AtomicUsize::new(0), gate: Semaphore::new(0) });
        let executor: Arc<dyn CallExecutor> = Arc::<BlockingExecutor>::clone(&held);
        let call = call(&Stub::default(), preset);
        let release = async {
            while held.begun.load(Ordering::Relaxed) < under_way {
                tokio::task::yield_now().await;
            }
            held.gate.add_permits(2);
        };
        let scheduler = CallScheduler::new(&executor, 1);
        let made = twins.make_call_unless(std::future::ready(()), &scheduler, &call);
        let (made, ()) = tokio::join!(made, release);
        let (outcome, twin) = made.unwrap();
        assert_eq!(held.begun.load(Ordering::Relaxed), under_way);
        (outcome.verdict.kind, twin)
    }

    const DISTURBED: &str = r#"{"FAILURE_MODES": "flaky_upstream"}"#;

    #[tokio::test]
    async fn a_call_that_times_out_is_rerun_meanwhile() {
        let (kind, twin) = made(&RerunStarter::default(), DISTURBED, false, 2).await;
        assert_eq!(kind, OutcomeKind::Timeout);
        assert_eq!(twin.unwrap().await.unwrap().unwrap().verdict.kind, OutcomeKind::Timeout);
    }

    #[tokio::test]
    async fn a_slow_call_that_ends_has_no_rerun() {
        assert!(made(&RerunStarter::default(), DISTURBED, true, 2).await.1.is_none());
    }

    #[tokio::test]
    async fn a_call_without_network_faults_is_not_rerun() {
        assert!(made(&RerunStarter::default(), "{}", false, 1).await.1.is_none());
    }

    #[tokio::test]
    async fn one_rerun_per_section_is_enough() {
        let twins = RerunStarter::default();
        assert!(made(&twins, DISTURBED, true, 2).await.1.is_none(), "the call is slow but ends");
        assert!(made(&twins, DISTURBED, false, 2).await.1.is_some());
        assert!(made(&twins, DISTURBED, false, 1).await.1.is_none());
    }
}
