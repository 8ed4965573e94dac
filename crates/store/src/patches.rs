//! The ledger of patches: every proposal, its verdict and its cost.

use menace_model::ids::RunId;
use menace_model::patches::{PatchDetail, PatchState, PatchVerdict, StepCost};
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::entities::patch;
use crate::{Store, StoreError};

/// A row of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatchRecord {
    /// Id of the run.
    pub run: RunId,
    /// Number of the patch in the run, from 0.
    pub number: u64,
    /// Digest that identifies the proposal.
    pub proposal: String,
    /// The repository.
    pub repository: String,
    /// Section as `module:qualname`.
    pub section: String,
    /// Name of the proposer.
    pub proposer: String,
    /// State of the proposal.
    pub state: PatchState,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The proposal itself.
    pub detail: PatchDetail,
    /// Verdict with its measurements.
    pub verdict: PatchVerdict,
    /// Cost of the proposal.
    pub cost: StepCost,
    /// Commit, if the patch was kept.
    pub commit: Option<String>,
}

impl Store {
    /// Stores a row. A row with the same number is replaced, as when an interrupted run is resumed.
    pub async fn record_patch(&self, record: &PatchRecord) -> Result<(), StoreError> {
        let row = patch::ActiveModel {
            run: Set(record.run.to_string()),
            number: Set(record.number.cast_signed()),
            proposal: Set(record.proposal.clone()),
            repository: Set(record.repository.clone()),
            section: Set(record.section.clone()),
            proposer: Set(record.proposer.clone()),
            state: Set(record.state.name().to_owned()),
            at_ms: Set(record.at_ms),
            detail: Set(json(&record.detail)?),
            verdict: Set(json(&record.verdict)?),
            cost: Set(json(&record.cost)?),
            commit_id: Set(record.commit.clone()),
        };
        let replace = OnConflict::columns([patch::Column::Run, patch::Column::Number])
            .update_columns([
                patch::Column::Proposal,
                patch::Column::State,
                patch::Column::AtMs,
                patch::Column::Section,
                patch::Column::Proposer,
                patch::Column::Detail,
                patch::Column::Verdict,
                patch::Column::Cost,
                patch::Column::CommitId,
            ])
            .to_owned();
        patch::Entity::insert(row)
            .on_conflict(replace)
            .exec_without_returning(self.connection())
            .await
            .map_err(StoreError::query("store a patch"))?;
        Ok(())
    }

    /// The patches of a run, in order.
    pub async fn patches(&self, run: &RunId) -> Result<Vec<PatchRecord>, StoreError> {
        let rows = patch::Entity::find()
            .filter(patch::Column::Run.eq(run.to_string()))
            .order_by_asc(patch::Column::Number)
            .all(self.connection())
            .await
            .map_err(StoreError::query("read patches"))?;
        rows.into_iter().map(record).collect()
    }

    /// The newest row of a proposal.
    pub async fn patch(&self, proposal: &str) -> Result<Option<PatchRecord>, StoreError> {
        let row = patch::Entity::find()
            .filter(patch::Column::Proposal.eq(proposal))
            .order_by_desc(patch::Column::AtMs)
            .one(self.connection())
            .await
            .map_err(StoreError::query("read a patch"))?;
        row.map(record).transpose()
    }

    /// The newest row.
    pub async fn last_patch(&self) -> Result<Option<PatchRecord>, StoreError> {
        let row = patch::Entity::find()
            .order_by_desc(patch::Column::AtMs)
            .one(self.connection())
            .await
            .map_err(StoreError::query("read the last patch"))?;
        row.map(record).transpose()
    }

    /// All patches that were ever proposed for a repository, in order of time.
    pub async fn patches_of(&self, repository: &str) -> Result<Vec<PatchRecord>, StoreError> {
        let rows = patch::Entity::find()
            .filter(patch::Column::Repository.eq(repository))
            .order_by_asc(patch::Column::AtMs)
            .order_by_asc(patch::Column::Number)
            .all(self.connection())
            .await
            .map_err(StoreError::query("read patches"))?;
        rows.into_iter().map(record).collect()
    }
}

fn record(row: patch::Model) -> Result<PatchRecord, StoreError> {
    let broken =
        |reason: String| StoreError::Content { what: format!("patch {} of {}", row.number, row.run), reason };
    Ok(PatchRecord {
        run: row.run.parse().map_err(|error| broken(format!("{error}")))?,
        number: row.number.cast_unsigned(),
        detail: of_json(&row.detail).map_err(broken)?,
        verdict: of_json(&row.verdict).map_err(broken)?,
        cost: of_json(&row.cost).map_err(broken)?,
        state: PatchState::of_name(&row.state)
            .ok_or_else(|| broken(format!("unknown state {}", row.state)))?,
        proposal: row.proposal,
        repository: row.repository,
        section: row.section,
        proposer: row.proposer,
        at_ms: row.at_ms,
        commit: row.commit_id,
    })
}

fn of_json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Content { what: "a patch".into(), reason: error.to_string() })
}
