//! Schema migrations, in order.
//!
//! `SeaORM`'s own migration crate enables every default feature of the ORM, which is much more to compile.

use sea_orm::sea_query::{ColumnDef, Index, IndexCreateStatement, Table, TableCreateStatement};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, Statement, TransactionTrait};

/// One migration.
struct SchemaMigration {
    name: &'static str,
    tables: fn() -> Vec<TableCreateStatement>,
    indices: fn() -> Vec<IndexCreateStatement>,
    /// SQLite-specific statements, executed after the tables and indices.
    statements: &'static [&'static str],
}

const MIGRATIONS: [SchemaMigration; 4] = [
    SchemaMigration { name: "0001_runs", tables: first_tables, indices: first_indices, statements: &[] },
    SchemaMigration { name: "0002_metrics", tables: metric_tables, indices: metric_indices, statements: &[] },
    SchemaMigration { name: "0003_patches", tables: patch_tables, indices: patch_indices, statements: &[] },
    SchemaMigration {
        name: "0004_memories",
        tables: memory_tables,
        indices: memory_indices,
        statements: &MEMORY_TEXT,
    },
];

/// Applies the pending migrations, each in a transaction.
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
        for statement in migration.statements {
            transaction.execute_unprepared(statement).await?;
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
    // Serves a page of the failures of a run without reading its other calls.
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

fn patch_tables() -> Vec<TableCreateStatement> {
    let patches = Table::create()
        .table("patches")
        .col(text("run"))
        .col(number("number"))
        .col(text("proposal"))
        .col(text("repository"))
        .col(text("section"))
        .col(text("proposer"))
        .col(text("state"))
        .col(number("at_ms"))
        .col(text("detail"))
        .col(text("verdict"))
        .col(text("cost"))
        .col(ColumnDef::new("commit_id").text())
        .primary_key(Index::create().col("run").col("number"))
        .to_owned();
    let events = Table::create()
        .table("events")
        .col(ColumnDef::new("id").integer().not_null().auto_increment().primary_key())
        .col(text("run"))
        .col(number("at_ms"))
        .col(text("kind"))
        .col(text("detail"))
        .to_owned();
    vec![patches, events]
}

fn patch_indices() -> Vec<IndexCreateStatement> {
    // Every proposal is looked up by its digest.
    let by_proposal = Index::create()
        .name("patches_by_proposal")
        .table("patches")
        .col("repository")
        .col("proposal")
        .to_owned();
    let by_section = Index::create()
        .name("patches_by_section")
        .table("patches")
        .col("repository")
        .col("section")
        .to_owned();
    let of_run = Index::create().name("events_of_run").table("events").col("run").col("id").to_owned();
    vec![by_proposal, by_section, of_run]
}

fn memory_tables() -> Vec<TableCreateStatement> {
    let memories = Table::create()
        .table("memories")
        .col(ColumnDef::new("id").integer().not_null().auto_increment().primary_key())
        .col(number("at_ms"))
        .col(text("tag"))
        .col(text("repository"))
        .col(text("section"))
        .col(text("prompt"))
        .col(text("response"))
        .col(ColumnDef::new("embedder").text())
        .col(ColumnDef::new("embedding").blob())
        .to_owned();
    let compactions = Table::create()
        .table("memory_compactions")
        .col(ColumnDef::new("id").integer().not_null().auto_increment().primary_key())
        .col(number("at_ms"))
        .col(number("removed"))
        .to_owned();
    vec![memories, compactions]
}

fn memory_indices() -> Vec<IndexCreateStatement> {
    // Compaction keeps the newest memories of a tag.
    let by_tag = Index::create().name("memories_by_tag").table("memories").col("tag").col("id").to_owned();
    let by_embedder =
        Index::create().name("memories_by_embedder").table("memories").col("embedder").col("id").to_owned();
    vec![by_tag, by_embedder]
}

/// Full-text index of memories. The text itself is only in `memories`; triggers keep the index in step with every
/// write. A later embedding does not change the text.
const MEMORY_TEXT: [&str; 4] = [
    "CREATE VIRTUAL TABLE memories_text USING fts5(
        prompt, response, content='memories', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2')",
    "CREATE TRIGGER memories_added AFTER INSERT ON memories BEGIN
        INSERT INTO memories_text (rowid, prompt, response) VALUES (new.id, new.prompt, new.response);
    END",
    "CREATE TRIGGER memories_removed AFTER DELETE ON memories BEGIN
        INSERT INTO memories_text (memories_text, rowid, prompt, response)
        VALUES ('delete', old.id, old.prompt, old.response);
    END",
    "CREATE TRIGGER memories_changed AFTER UPDATE OF prompt, response ON memories BEGIN
        INSERT INTO memories_text (memories_text, rowid, prompt, response)
        VALUES ('delete', old.id, old.prompt, old.response);
        INSERT INTO memories_text (rowid, prompt, response) VALUES (new.id, new.prompt, new.response);
    END",
];
