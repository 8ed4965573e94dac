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
        }
        (outcome.map(|outcome| vec![outcome]), twin.filter(|_| !ended))
    }

    fn is_first_of(&self, call: &Call) -> bool {
        self.sections.lock().unwrap_or_else(PoisonError::into_inner).insert(call.section())
    }
}
