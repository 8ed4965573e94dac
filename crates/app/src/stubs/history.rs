//! `SANDBOX_STUB_STRATEGY=history`: arguments of successful calls of the last run.

use crate::AppError;
use menace_model::calls::OutcomeKind;
use menace_model::inventory::Inventory;
use menace_runner::{Call, CallableSection, GivenStub};
use menace_store::{CallFilter, RunState, Store};

/// Number of recent runs to search for one of the same repository.
const LATEST: u64 = 50;
/// Maximum number of calls to read from the run.
const MOST_CALLS: u64 = 100_000;

/// Arguments of successful calls of the last finished run over the same repository.
pub(super) async fn of_last_run(
    store: &Store,
    inventory: &Inventory,
    targets: &[CallableSection],
) -> Result<Vec<GivenStub>, AppError> {
    let runs = store.runs(LATEST).await?;
    let is_candidate =
        |run: &&menace_store::RunRecord| run.state == RunState::Finished && run.repository == inventory.root;
    let Some(run) = runs.iter().find(is_candidate) else { return Ok(Vec::new()) };
    let filter = CallFilter { kind: Some(OutcomeKind::Ok), limit: MOST_CALLS, ..CallFilter::default() };
    let mut stubs = Vec::new();
    for record in store.calls(&run.id, &filter).await? {
        let Ok(call) = serde_json::from_value::<Call>(record.spec) else { continue };
        let target = targets.iter().find(|target| target.name() == record.section);
        if let Some(target) = target.filter(|_| call.circumstances.is_baseline && !call.examples) {
            stubs.push(by_name(&call, target));
        }
    }
    Ok(stubs)
}

/// The arguments of a call by parameter name; `self` is left out.
fn by_name(call: &Call, target: &CallableSection) -> GivenStub {
    let names = target.section.parameters.iter().map(|parameter| parameter.name.clone());
    let names = names.skip(usize::from(call.stub.owner.is_some()));
    let positional = names.zip(call.stub.arguments.iter().cloned());
    GivenStub {
        section: Some(target.name()),
        arguments: positional.chain(call.stub.keywords.iter().cloned()).collect(),
    }
}
