//! The outcome of a call.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "outcomes")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub run: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub number: i64,
    pub kind: String,
    pub wall_ms: f64,
    #[sea_orm(column_type = "Text")]
    pub detail: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {
    #[sea_orm(
        belongs_to = "super::call::Entity",
        from = "(Column::Run, Column::Number)",
        to = "(super::call::Column::Run, super::call::Column::Number)"
    )]
    Call,
}

impl Related<super::call::Entity> for Entity {
    fn to() -> RelationDef {
        Relation::Call.def()
    }
}

impl ActiveModelBehavior for ActiveModel {}
