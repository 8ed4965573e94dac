//! Memories: prompts and answers, searchable by words or by embedding.

use sea_orm::ActiveValue::{NotSet, Set};
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select, Statement,
    TransactionTrait,
};
use serde::Serialize;

use crate::entities::memory;
use crate::{Store, StoreError};

/// A memory to store.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMemory {
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// Kind of memory.
    pub tag: String,
    /// Repository of the memory.
    pub repository: String,
    /// Section as `module:qualname`; empty if the memory is about more than one.
    pub section: String,
    /// Prompt or observation.
    pub prompt: String,
    /// Answer or lesson.
    pub response: String,
}

/// A stored memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryRecord {
    /// Number of the memory; numbers grow and are never reused.
    pub id: u64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// Kind of memory.
    pub tag: String,
    /// Repository of the memory.
    pub repository: String,
    /// Section as `module:qualname`; empty if the memory is about more than one.
    pub section: String,
    /// Prompt or observation.
    pub prompt: String,
    /// Answer or lesson.
    pub response: String,
    /// Name of the embedder; `None` if the memory has no embedding.
    pub embedder: Option<String>,
}

/// Filter of memories.
#[derive(Debug, Clone, Default)]
pub struct MemoryFilter {
    /// Only with this tag.
    pub tag: Option<String>,
    /// Only of this repository.
    pub repository: Option<String>,
    /// Maximum number of memories.
    pub limit: u64,
}

/// Maximum number of words in a search. In a longer question each word says little.
const MOST_WORDS: usize = 128;

impl Store {
    /// Stores a memory and returns its number.
    pub async fn add_memory(&self, new: &NewMemory) -> Result<u64, StoreError> {
        let row = memory::ActiveModel {
            id: NotSet,
            at_ms: Set(new.at_ms),
            tag: Set(new.tag.clone()),
            repository: Set(new.repository.clone()),
            section: Set(new.section.clone()),
            prompt: Set(new.prompt.clone()),
            response: Set(new.response.clone()),
            embedder: Set(None),
            embedding: Set(None),
        };
        let added = memory::Entity::insert(row).exec(self.connection()).await;
        Ok(added.map_err(StoreError::query("store a memory"))?.last_insert_id.cast_unsigned())
    }

    /// Stores the embedding of a memory.
    pub async fn set_embedding(&self, id: u64, embedder: &str, embedding: &[f32]) -> Result<(), StoreError> {
        let bytes: Vec<u8> = embedding.iter().flat_map(|number| number.to_le_bytes()).collect();
        let changed = memory::Entity::update_many()
            .col_expr(memory::Column::Embedder, Expr::value(embedder))
            .col_expr(memory::Column::Embedding, Expr::value(bytes))
            .filter(memory::Column::Id.eq(id.cast_signed()))
            .exec(self.connection())
            .await
            .map_err(StoreError::query("store an embedding"))?;
        if changed.rows_affected == 0 { Err(StoreError::NoMemory(id)) } else { Ok(()) }
    }

    /// One memory.
    pub async fn memory(&self, id: u64) -> Result<MemoryRecord, StoreError> {
        let row = memory::Entity::find_by_id(id.cast_signed()).one(self.connection()).await;
        let row = row.map_err(StoreError::query("read a memory"))?;
        row.map(record).ok_or(StoreError::NoMemory(id))
    }

    /// Memories, the newest first.
    pub async fn memories(&self, filter: &MemoryFilter) -> Result<Vec<MemoryRecord>, StoreError> {
        let rows = filtered(memory::Entity::find(), filter)
            .order_by_desc(memory::Column::Id)
            .limit(filter.limit)
            .all(self.connection());
        let rows = rows.await.map_err(StoreError::query("read memories"))?;
        Ok(rows.into_iter().map(record).collect())
    }

    /// Memories that contain at least one word of the question, ranked by BM25. Any text is a valid question; one
    /// without words finds nothing.
    pub async fn search_memories(
        &self,
        question: &str,
        filter: &MemoryFilter,
    ) -> Result<Vec<MemoryRecord>, StoreError> {
        let Some(words) = any_of_words(question) else { return Ok(Vec::new()) };
        let mut sql =
            "SELECT memories.* FROM memories_text JOIN memories ON memories.id = memories_text.rowid \
                       WHERE memories_text MATCH ?"
                .to_owned();
        let mut values = vec![words.into()];
        for (column, value) in [("tag", &filter.tag), ("repository", &filter.repository)] {
            if let Some(value) = value {
                sql.push_str(&format!(" AND memories.{column} = ?"));
                values.push(value.as_str().into());
            }
        }
        sql.push_str(" ORDER BY bm25(memories_text), memories.id DESC LIMIT ?");
        values.push(i64::try_from(filter.limit).unwrap_or(i64::MAX).into());
        let backend = self.connection().get_database_backend();
        let query = Statement::from_sql_and_values(backend, sql, values);
        let rows = memory::Entity::find().from_raw_sql(query).all(self.connection()).await;
        Ok(rows.map_err(StoreError::query("search memories"))?.into_iter().map(record).collect())
    }

    /// Embeddings by one embedder with the numbers of their memories, in order, after a number and at most as many as
    /// the filter allows, so that a large memory is read in pages.
    pub async fn memory_embeddings(
        &self,
        embedder: &str,
        after: u64,
        filter: &MemoryFilter,
    ) -> Result<Vec<(u64, Vec<f32>)>, StoreError> {
        let rows: Vec<(i64, Vec<u8>)> = filtered(memory::Entity::find(), filter)
            .select_only()
            .column(memory::Column::Id)
            .column(memory::Column::Embedding)
            .filter(memory::Column::Embedder.eq(embedder))
            .filter(memory::Column::Embedding.is_not_null())
            .filter(memory::Column::Id.gt(after.cast_signed()))
            .order_by_asc(memory::Column::Id)
            .limit(filter.limit)
            .into_tuple()
            .all(self.connection())
            .await
            .map_err(StoreError::query("read embeddings"))?;
        Ok(rows.into_iter().map(|(id, bytes)| (id.cast_unsigned(), numbers(&bytes))).collect())
    }

    /// Removes all but the newest memories of each given tag, atomically, and returns how many were removed of each.
    /// The newest are those that were stored last, independently of the clock.
    pub async fn compact_memories(
        &self,
        keep: &[(String, u64)],
        now_ms: i64,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let failed = || StoreError::query("compact memories");
        let transaction = self.connection().begin().await.map_err(failed())?;
        let backend = transaction.get_database_backend();
        let mut removed = Vec::new();
        for (tag, most) in keep {
            let sql = "DELETE FROM memories WHERE id IN \
                       (SELECT id FROM memories WHERE tag = ? ORDER BY id DESC LIMIT -1 OFFSET ?)";
            let most = i64::try_from(*most).unwrap_or(i64::MAX);
            let old = Statement::from_sql_and_values(backend, sql, [tag.as_str().into(), most.into()]);
            let done = transaction.execute_raw(old).await.map_err(failed())?;
            removed.push((tag.clone(), done.rows_affected()));
        }
        let all: u64 = removed.iter().map(|(_, count)| count).sum();
        let note = "INSERT INTO memory_compactions (at_ms, removed) VALUES (?, ?)";
        let values = [now_ms.into(), all.cast_signed().into()];
        let note = Statement::from_sql_and_values(backend, note, values);
        transaction.execute_raw(note).await.map_err(failed())?;
        transaction.commit().await.map_err(failed())?;
        Ok(removed)
    }

    /// Time of the last compaction, in milliseconds since 1970.
    pub async fn last_compaction(&self) -> Result<Option<i64>, StoreError> {
        let failed = || StoreError::query("read the time of the last compaction");
        let sql = "SELECT at_ms FROM memory_compactions ORDER BY id DESC LIMIT 1";
        let query = Statement::from_string(self.connection().get_database_backend(), sql);
        let row = self.connection().query_one_raw(query).await.map_err(failed())?;
        row.map(|row| row.try_get_by_index(0)).transpose().map_err(failed())
    }
}

fn filtered(query: Select<memory::Entity>, filter: &MemoryFilter) -> Select<memory::Entity> {
    let mut query = query;
    if let Some(tag) = &filter.tag {
        query = query.filter(memory::Column::Tag.eq(tag.as_str()));
    }
    if let Some(repository) = &filter.repository {
        query = query.filter(memory::Column::Repository.eq(repository.as_str()));
    }
    query
}

/// Translates a question to an FTS5 query: each word in quotes, so that none is an operator, joined by OR.
///
/// The separators used here also separate words in FTS5, so that `shop.cart` is found where `cart` stands alone. A
/// NUL must be removed, because FTS5 reads the query only up to it.
fn any_of_words(question: &str) -> Option<String> {
    let is_between =
        |letter: char| letter.is_whitespace() || letter.is_control() || letter.is_ascii_punctuation();
    let mut words: Vec<String> = Vec::new();
    for word in question.split(is_between).filter(|word| !word.is_empty()) {
        let quoted = format!("\"{}\"", word.to_lowercase());
        if words.len() < MOST_WORDS && !words.contains(&quoted) {
            words.push(quoted);
        }
    }
    (!words.is_empty()).then(|| words.join(" OR "))
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    let (whole, _) = bytes.as_chunks::<4>();
    whole.iter().map(|four| f32::from_le_bytes(*four)).collect()
}

fn record(row: memory::Model) -> MemoryRecord {
    MemoryRecord {
        id: row.id.cast_unsigned(),
        at_ms: row.at_ms,
        tag: row.tag,
        repository: row.repository,
        section: row.section,
        prompt: row.prompt,
        response: row.response,
        embedder: row.embedder,
    }
}
