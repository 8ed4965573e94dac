//! One run of menace over a repository.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "runs")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    pub repository: String,
    pub state: String,
    pub seed: String,
    pub began_ms: i64,
    pub ended_ms: Option<i64>,
    pub planned: i64,
    #[sea_orm(column_type = "Text")]
    pub options: String,
    #[sea_orm(column_type = "Text", nullable)]
    pub report: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
