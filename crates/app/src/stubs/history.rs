//! `SANDBOX_STUB_STRATEGY=history`: arguments with which calls of the last run ended well.

use crate::AppError;
use menace_model::calls::OutcomeKind;
use menace_model::inventory::Inventory;
use menace_runner::{Call, CallableSection, GivenStub};
use menace_store::{CallFilter, RunState, Store};

/// Runs that are looked through for one of the same repository.
const LATEST: u64 = 50;
/// Calls that are read of it.
const MOST_CALLS: u64 = 100_000;

/// Of the last finished run over the same repository.
pub(super) async fn of_last_run(
    store: &Store,
    inventory: &Inventory,
    targets: &[CallableSection],
) -> Result<Vec<GivenStub>, AppError> {
    let runs = store.runs(LATEST).await?;
    let is_like =
        |run: &&menace_store::RunRecord| run.state == RunState::Finished && run.repository == inventory.root;
    let Some(run) = runs.iter().find(is_like) else { return Ok(Vec::new()) };
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

/// Arguments by position have the names of the parameters, without the one for the object.
fn by_name(call: &Call, target: &CallableSection) -> GivenStub {
    let names = target.section.parameters.iter().map(|parameter| parameter.name.clone());
    let names = names.skip(usize::from(call.stub.owner.is_some()));
    let positional = names.zip(call.stub.arguments.iter().cloned());
    GivenStub {
        section: Some(target.name()),
        arguments: positional.chain(call.stub.keywords.iter().cloned()).collect(),
    }
}
