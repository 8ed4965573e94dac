//! Records outcomes of calls in the store as they end.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use menace_model::calls::OutcomeKind;
use menace_model::ids::RunId;
use menace_runner::{Call, CallJournal, CallOutcome, JournalFuture, RecordedCall};
use menace_store::{CallFilter, CallRecord, Store, StoreError};

use super::settings::RunSettings;

/// Number of calls that one query reads.
const PAGE: u64 = 5000;

/// Records the calls of one run in the store.
pub(crate) struct StoreLedger {
    store: Store,
    run: RunId,
    settings: RunSettings,
    known: BTreeMap<u64, CallOutcome>,
    /// Outcomes of another run, by identity of the call.
    carried: HashMap<blake3::Hash, CallOutcome>,
    /// Carried calls that timed out more than once.
    timed_out_twice: HashSet<blake3::Hash>,
}

impl StoreLedger {
    /// Ledger of a new run.
    pub(crate) fn new(store: Store, run: RunId, settings: RunSettings) -> Self {
        Self {
            store,
            run,
            settings,
            known: BTreeMap::new(),
            carried: HashMap::new(),
            timed_out_twice: HashSet::new(),
        }
    }

    /// The store.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Ledger of a resumed run, with its recorded outcomes.
    pub(crate) async fn resumed(store: Store, run: RunId, settings: RunSettings) -> Result<Self, StoreError> {
        let mut known = BTreeMap::new();
        for record in all_calls(&store, &run).await? {
            let number = record.id.number();
            // Calls with unreadable outcomes are made again.
            known.extend(serde_json::from_value(record.detail).ok().map(|outcome| (number, outcome)));
        }
        Ok(Self { store, run, settings, known, carried: HashMap::new(), timed_out_twice: HashSet::new() })
    }

    /// Carries over outcomes of calls of these modules from another run, for identical calls.
    pub(crate) async fn carry(
        &mut self,
        other: &RunId,
        modules: &BTreeSet<String>,
    ) -> Result<(), StoreError> {
        for record in all_calls(&self.store, other).await? {
            let Ok(call) = serde_json::from_value::<Call>(record.spec) else { continue };
            let Ok(outcome) = serde_json::from_value::<CallOutcome>(record.detail) else { continue };
            if !modules.contains(&call.module) {
                continue;
            }
            let (call, timed_out) = (identity(&call), outcome.verdict.kind == OutcomeKind::Timeout);
            let before = self.carried.insert(call, outcome);
            if timed_out && before.is_some_and(|before| before.verdict.kind == OutcomeKind::Timeout) {
                self.timed_out_twice.insert(call);
            }
        }
        Ok(())
    }
}

async fn all_calls(store: &Store, run: &RunId) -> Result<Vec<CallRecord>, StoreError> {
    let mut all = Vec::new();
    let mut filter = CallFilter { limit: PAGE, ..CallFilter::default() };
    loop {
        let page = store.calls(run, &filter).await?;
        let Some(last) = page.last() else { return Ok(all) };
        filter.after = Some(last.id.number());
        all.extend(page);
    }
}

/// Hash that identifies a call.
fn identity(call: &Call) -> blake3::Hash {
    blake3::hash(&serde_json::to_vec(call).unwrap_or_default())
}

impl CallJournal for StoreLedger {
    fn known(&self) -> BTreeMap<u64, CallOutcome> {
        self.known.clone()
    }

    fn outcome_of_identical_call(&self, call: &Call) -> Option<CallOutcome> {
        self.carried.get(&identity(call)).cloned()
    }

    fn timed_out_twice(&self, call: &Call) -> bool {
        self.timed_out_twice.contains(&identity(call))
    }

    fn planned<'a>(&'a self, calls: u64, digest: &'a str) -> JournalFuture<'a> {
        let settings = RunSettings { digest: Some(digest.to_owned()), ..self.settings.clone() };
        Box::pin(async move {
            let options = serde_json::to_value(settings)?;
            Ok(self.store.plan_run(&self.run, calls, &options).await?)
        })
    }

    fn record<'a>(&'a self, made: &'a [RecordedCall]) -> JournalFuture<'a> {
        Box::pin(async move {
            let records: Result<Vec<CallRecord>, serde_json::Error> =
                made.iter().map(|one| row(&self.run, one)).collect();
            Ok(self.store.record(&records?).await?)
        })
    }
}

fn row(
    run: &RunId,
    RecordedCall { number, call, outcome }: &RecordedCall,
) -> Result<CallRecord, serde_json::Error> {
    Ok(CallRecord {
        id: run.call(*number),
        section: call.section(),
        scenario: call.circumstances.scenario.clone(),
        spec: serde_json::to_value(call)?,
        kind: outcome.verdict.kind,
        wall_ms: outcome.measures.as_ref().map_or(0.0, |measures| measures.wall_ms),
        detail: serde_json::to_value(outcome)?,
    })
}
