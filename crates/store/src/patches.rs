//! The ledger of patches: every proposal, its verdict and its cost.

use menace_model::ids::RunId;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entities::patch;
use crate::{Store, StoreError};

/// State of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchState {
    /// Committed.
    Kept,
    /// Not committed.
    Rejected,
    /// Committed, and reverted later.
    Reverted,
}

impl PatchState {
    /// Name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Rejected => "rejected",
            Self::Reverted => "reverted",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        [Self::Kept, Self::Rejected, Self::Reverted].into_iter().find(|state| state.name() == name)
    }
}

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
    pub detail: Value,
    /// Verdict with its measurements.
    pub verdict: Value,
    /// Cost of the proposal.
    pub cost: Value,
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
            detail: Set(record.detail.to_string()),
            verdict: Set(record.verdict.to_string()),
            cost: Set(record.cost.to_string()),
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
    let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| broken(error.to_string()));
    Ok(PatchRecord {
        run: row.run.parse().map_err(|error| broken(format!("{error}")))?,
        number: row.number.cast_unsigned(),
        detail: json(&row.detail)?,
        verdict: json(&row.verdict)?,
        cost: json(&row.cost)?,
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
