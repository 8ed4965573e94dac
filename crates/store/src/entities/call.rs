//! One call of a run: section, scenario, and everything that is needed to replay it.

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
