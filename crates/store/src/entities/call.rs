//! One call of a run: what was called, under which circumstances, with what.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "calls")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub run: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub number: i64,
    pub section: String,
    pub scenario: String,
    #[sea_orm(column_type = "Text")]
    pub spec: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
