//! A stored prompt with its answer.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "memories")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub at_ms: i64,
    pub tag: String,
    pub repository: String,
    pub section: String,
    pub prompt: String,
    pub response: String,
    pub embedder: Option<String>,
    pub embedding: Option<Vec<u8>>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
