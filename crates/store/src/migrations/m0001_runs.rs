//! Runs, calls, outcomes, workflows.

use sea_orm_migration::prelude::*;
use sea_orm_migration::schema::{
    big_integer, big_integer_null, double, pk_auto, string, string_uniq, text, text_null,
};

pub(super) struct Migration;

impl MigrationName for Migration {
    fn name(&self) -> &'static str {
        "m0001_runs"
    }
}

#[derive(Iden)]
enum Runs {
    Table,
    Id,
    Repository,
    State,
    Seed,
    BeganMs,
    EndedMs,
    Planned,
    Options,
    Report,
}

#[derive(Iden)]
enum Calls {
    Table,
    Run,
    Number,
    Section,
    Scenario,
    Spec,
}

#[derive(Iden)]
enum Outcomes {
    Table,
    Run,
    Number,
    Kind,
    WallMs,
    Detail,
}

#[derive(Iden)]
enum Workflows {
    Table,
    Id,
    Name,
    Steps,
    AddedMs,
}

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        manager.create_table(runs()).await?;
        manager.create_table(calls()).await?;
        manager.create_table(outcomes()).await?;
        manager.create_table(workflows()).await?;
        // A page of the failures of a run is read from here without looking at its other calls.
        let by_kind = Index::create()
            .name("outcomes_by_kind")
            .table(Outcomes::Table)
            .col(Outcomes::Run)
            .col(Outcomes::Kind)
            .col(Outcomes::Number)
            .to_owned();
        manager.create_index(by_kind).await?;
        let by_section = Index::create()
            .name("calls_by_section")
            .table(Calls::Table)
            .col(Calls::Run)
            .col(Calls::Section)
            .col(Calls::Number)
            .to_owned();
        manager.create_index(by_section).await
    }
}

fn runs() -> TableCreateStatement {
    Table::create()
        .table(Runs::Table)
        .col(string(Runs::Id).primary_key())
        .col(text(Runs::Repository))
        .col(string(Runs::State))
        .col(string(Runs::Seed))
        .col(big_integer(Runs::BeganMs))
        .col(big_integer_null(Runs::EndedMs))
        .col(big_integer(Runs::Planned))
        .col(text(Runs::Options))
        .col(text_null(Runs::Report))
        .to_owned()
}

fn calls() -> TableCreateStatement {
    Table::create()
        .table(Calls::Table)
        .col(string(Calls::Run))
        .col(big_integer(Calls::Number))
        .col(text(Calls::Section))
        .col(string(Calls::Scenario))
        .col(text(Calls::Spec))
        .primary_key(Index::create().col(Calls::Run).col(Calls::Number))
        .to_owned()
}

fn outcomes() -> TableCreateStatement {
    Table::create()
        .table(Outcomes::Table)
        .col(string(Outcomes::Run))
        .col(big_integer(Outcomes::Number))
        .col(string(Outcomes::Kind))
        .col(double(Outcomes::WallMs))
        .col(text(Outcomes::Detail))
        .primary_key(Index::create().col(Outcomes::Run).col(Outcomes::Number))
        .to_owned()
}

fn workflows() -> TableCreateStatement {
    Table::create()
        .table(Workflows::Table)
        .col(pk_auto(Workflows::Id))
        .col(string_uniq(Workflows::Name))
        .col(text(Workflows::Steps))
        .col(big_integer(Workflows::AddedMs))
        .to_owned()
}
