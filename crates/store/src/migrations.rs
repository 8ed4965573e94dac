//! The tables as they came to be, one step after the other.
//!
//! There is a crate for this, but it turns on every default feature of the ORM, which is much more to compile.

use sea_orm::sea_query::{ColumnDef, Index, IndexCreateStatement, Table, TableCreateStatement};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, Statement, TransactionTrait};

/// One step.
struct Migration {
    name: &'static str,
    tables: fn() -> Vec<TableCreateStatement>,
    indices: fn() -> Vec<IndexCreateStatement>,
}

const MIGRATIONS: [Migration; 2] = [
    Migration { name: "0001_runs", tables: first_tables, indices: first_indices },
    Migration { name: "0002_metrics", tables: metric_tables, indices: metric_indices },
];

/// Makes the steps that were not made yet, each whole or not at all.
pub(crate) async fn migrate(connection: &DatabaseConnection) -> Result<(), DbErr> {
    let made = Table::create()
        .table("migrations")
        .if_not_exists()
        .col(ColumnDef::new("name").string().not_null().primary_key())
        .to_owned();
    connection.execute(&made).await?;
    let backend = connection.get_database_backend();
    for migration in MIGRATIONS {
        let question = Statement::from_sql_and_values(
            backend,
            "SELECT name FROM migrations WHERE name = $1",
            [migration.name.into()],
        );
        if connection.query_one_raw(question).await?.is_some() {
            continue;
        }
        let transaction = connection.begin().await?;
        for table in (migration.tables)() {
            transaction.execute(&table).await?;
        }
        for index in (migration.indices)() {
            transaction.execute(&index).await?;
        }
        let note = Statement::from_sql_and_values(
            backend,
            "INSERT INTO migrations (name) VALUES ($1)",
            [migration.name.into()],
        );
        transaction.execute_raw(note).await?;
        transaction.commit().await?;
    }
    Ok(())
}

fn text(name: &'static str) -> ColumnDef {
    ColumnDef::new(name).text().not_null().to_owned()
}

fn number(name: &'static str) -> ColumnDef {
    ColumnDef::new(name).big_integer().not_null().to_owned()
}

fn first_tables() -> Vec<TableCreateStatement> {
    let runs = Table::create()
        .table("runs")
        .col(ColumnDef::new("id").string().not_null().primary_key())
        .col(text("repository"))
        .col(text("state"))
        .col(text("seed"))
        .col(number("began_ms"))
        .col(ColumnDef::new("ended_ms").big_integer())
        .col(number("planned"))
        .col(text("options"))
        .col(ColumnDef::new("report").text())
        .to_owned();
    let calls = Table::create()
        .table("calls")
        .col(text("run"))
        .col(number("number"))
        .col(text("section"))
        .col(text("scenario"))
        .col(text("spec"))
        .primary_key(Index::create().col("run").col("number"))
        .to_owned();
    let outcomes = Table::create()
        .table("outcomes")
        .col(text("run"))
        .col(number("number"))
        .col(text("kind"))
        .col(ColumnDef::new("wall_ms").double().not_null())
        .col(text("detail"))
        .primary_key(Index::create().col("run").col("number"))
        .to_owned();
    let workflows = Table::create()
        .table("workflows")
        .col(ColumnDef::new("id").integer().not_null().auto_increment().primary_key())
        .col(ColumnDef::new("name").string().not_null().unique_key())
        .col(text("steps"))
        .col(number("added_ms"))
        .to_owned();
    vec![runs, calls, outcomes, workflows]
}

fn first_indices() -> Vec<IndexCreateStatement> {
    // A page of the failures of a run is read from here without looking at its other calls.
    let by_kind = Index::create()
        .name("outcomes_by_kind")
        .table("outcomes")
        .col("run")
        .col("kind")
        .col("number")
        .to_owned();
    let by_section = Index::create()
        .name("calls_by_section")
        .table("calls")
        .col("run")
        .col("section")
        .col("number")
        .to_owned();
    vec![by_kind, by_section]
}

fn metric_tables() -> Vec<TableCreateStatement> {
    let metrics = Table::create()
        .table("metrics")
        .col(ColumnDef::new("id").integer().not_null().auto_increment().primary_key())
        .col(text("run"))
        .col(number("cycle"))
        .col(number("at_ms"))
        .col(text("module"))
        .col(text("scenario"))
        .col(text("name"))
        .col(ColumnDef::new("value").double().not_null())
        .to_owned();
    vec![metrics]
}

fn metric_indices() -> Vec<IndexCreateStatement> {
    let by_name = Index::create()
        .name("metrics_by_name")
        .table("metrics")
        .col("name")
        .col("module")
        .col("id")
        .to_owned();
    vec![by_name]
}
