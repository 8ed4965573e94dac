//! A proposal and its verdict.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "patches")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub run: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub number: i64,
    pub proposal: String,
    pub repository: String,
    pub section: String,
    pub proposer: String,
    pub state: String,
    pub at_ms: i64,
    pub detail: String,
    pub verdict: String,
    pub cost: String,
    pub commit_id: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
