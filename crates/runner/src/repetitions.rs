//! Calls that are made once more while they are still waited for.
//!
//! What waits for others in vain takes all of its time, which is long, and none of the machine's. Whether it does so each time
//! can be found out meanwhile, so that nobody has to wait for it twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use menace_model::calls::OutcomeKind;
use menace_sandbox::SandboxError;
use tokio::task::JoinHandle;

use crate::call::Call;
use crate::execute::Execute;
use crate::minimise::outcome_of;
use crate::outcome::CallOutcome;

/// A call that takes longer than this probably waits for somebody who does not answer.
const SUSPICIOUS: Duration = Duration::from_secs(3);

/// A call that is made once more.
pub(crate) type Repetition = JoinHandle<Result<CallOutcome, SandboxError>>;

/// Calls that were made once more, by the number of the first.
#[derive(Default)]
pub(crate) struct Repetitions {
    by_number: BTreeMap<usize, Repetition>,
    twins: Twins,
}

/// Makes calls once more while they wait, one of each section.
#[derive(Default, Clone)]
pub(crate) struct Twins {
    sections: Arc<Mutex<BTreeSet<String>>>,
}

impl Repetitions {
    /// Who makes them.
    pub(crate) fn twins(&self) -> Twins {
        self.twins.clone()
    }

    /// Keeps one for whoever looks at the failure again.
    pub(crate) fn keep(&mut self, number: usize, repetition: Repetition) {
        self.by_number.insert(number, repetition);
    }

    pub(crate) fn has(&self, number: usize) -> bool {
        self.by_number.contains_key(&number)
    }

    pub(crate) fn take(&mut self, number: usize) -> Option<Repetition> {
        self.by_number.remove(&number)
    }
}

impl Drop for Repetitions {
    fn drop(&mut self) {
        for repetition in self.by_number.values() {
            repetition.abort();
        }
    }
}

impl Twins {
    /// Makes a call alone; with a second one beside it if it waits for others for long. That one is worth something only if the
    /// first did not end.
    pub(crate) async fn outcome_of(
        &self,
        executor: &Arc<dyn Execute>,
        call: &Call,
    ) -> (Result<Vec<CallOutcome>, SandboxError>, Option<Repetition>) {
        let first = outcome_of(executor, call);
        tokio::pin!(first);
        let outcome = tokio::select! {
            outcome = &mut first => Some(outcome),
            () = tokio::time::sleep(SUSPICIOUS), if call.circumstances.disturbs_network() => None,
        };
        if let Some(outcome) = outcome {
            return (outcome.map(|outcome| vec![outcome]), None);
        }
        let twin = self.is_first_of(call).then(|| {
            let (executor, call) = (Arc::clone(executor), call.clone());
            tokio::spawn(async move { outcome_of(&executor, &call).await })
        });
        let outcome = first.await;
        let ended = outcome.as_ref().map_or(true, |one| one.verdict.kind != OutcomeKind::Timeout);
        if let (true, Some(twin)) = (ended, &twin) {
            twin.abort();
            // It was slow, and another one of the section may not end.
            self.forget(call);
        }
        (outcome.map(|outcome| vec![outcome]), twin.filter(|_| !ended))
    }

    fn is_first_of(&self, call: &Call) -> bool {
        self.sections.lock().unwrap_or_else(PoisonError::into_inner).insert(call.section())
    }

    fn forget(&self, call: &Call) {
        self.sections.lock().unwrap_or_else(PoisonError::into_inner).remove(&call.section());
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use menace_sandbox::native::{CallSpec, RawOutcome};
    use serde_json::{Value, json};

    use super::*;
    use crate::execute::Outcomes;
    use crate::judge::tests::{call, raw};
    use crate::stubs::Stub;

    /// Every call takes so long, and does not end if that is too long for it.
    struct Slow {
        takes: Duration,
        begun: AtomicUsize,
    }

    impl Execute for Slow {
        fn execute<'a>(
            &'a self,
            call: &'a CallSpec,
        ) -> Pin<Box<dyn Future<Output = Result<RawOutcome, SandboxError>> + Send + 'a>> {
            self.begun.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move {
                tokio::time::sleep(self.takes.min(call.timeout)).await;
                let timed_out = self.takes > call.timeout;
                let returned = if timed_out { Value::Null } else { json!({"stage": "done"}) };
                Ok(RawOutcome { timed_out, ..raw(returned) })
            })
        }

        fn execute_batch<'a>(&'a self, _module: &'a str, _calls: &'a [CallSpec]) -> Outcomes<'a> {
            unreachable!("these calls are made alone")
        }
    }

    async fn made(preset: &str, takes: u64, twins: &Twins) -> (OutcomeKind, usize, Option<Repetition>) {
        let slow = Arc::new(Slow { takes: Duration::from_secs(takes), begun: AtomicUsize::new(0) });
        let executor: Arc<dyn Execute> = Arc::<Slow>::clone(&slow);
        let (outcomes, twin) = twins.outcome_of(&executor, &call(&Stub::default(), preset)).await;
        (outcomes.unwrap()[0].verdict.kind, slow.begun.load(Ordering::Relaxed), twin)
    }

    const DISTURBED: &str = r#"{"FAILURE_MODES": "flaky_upstream"}"#;

    #[tokio::test(start_paused = true)]
    async fn what_waits_in_vain_is_made_once_more_meanwhile() {
        let start = tokio::time::Instant::now();
        let (kind, begun, twin) = made(DISTURBED, 3600, &Twins::default()).await;
        assert_eq!((kind, begun), (OutcomeKind::Timeout, 2));
        let again = twin.unwrap().await.unwrap().unwrap();
        assert_eq!(again.verdict.kind, OutcomeKind::Timeout);
        let timeout = Duration::from_secs(5);
        assert_eq!(start.elapsed().as_secs(), (timeout + SUSPICIOUS).as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn what_ends_is_made_once() {
        let (_, begun, twin) = made(DISTURBED, 1, &Twins::default()).await;
        assert_eq!((begun, twin.is_some()), (1, false));
        let (_, begun, twin) = made(DISTURBED, 4, &Twins::default()).await;
        assert_eq!((begun, twin.is_some()), (2, false), "it took its time, and ended");
        let (_, begun, twin) = made("{}", 3600, &Twins::default()).await;
        assert_eq!((begun, twin.is_some()), (1, false), "nobody is waited for");
    }

    #[tokio::test(start_paused = true)]
    async fn one_of_a_section_is_enough() {
        let twins = Twins::default();
        assert!(made(DISTURBED, 4, &twins).await.2.is_none(), "it is slow, and ends");
        assert!(made(DISTURBED, 3600, &twins).await.2.is_some());
        assert!(made(DISTURBED, 3600, &twins).await.2.is_none());
    }
}
