//! What helped before, for those who propose changes.

use async_trait::async_trait;
use menace_engine::memory::{Memory, MemoryScope, MemoryTag};
use menace_engine::proposers::PatchRecall;
use menace_store::Store;

use crate::calling;
use crate::text::shortened;
use crate::{AppContext, AppError};

/// The memory of the loop.
pub(super) fn memory(context: &AppContext, store: &Store) -> Result<Memory, AppError> {
    Ok(calling::memory(context, store.clone())?)
}

/// What a repository taught before a time. What was learned later is left out, so that a cycle that is gone on with asks the
/// same questions.
pub(super) fn recall(
    context: &AppContext,
    store: &Store,
    repository: &str,
    before_ms: i64,
) -> Result<Box<dyn PatchRecall>, AppError> {
    let memory = memory(context, store)?;
    Ok(Box::new(RepositoryMemoryRecall { memory, repository: repository.to_owned(), before_ms }))
}

struct RepositoryMemoryRecall {
    memory: Memory,
    repository: String,
    before_ms: i64,
}

/// Memories that are looked through for each that is shown.
const LOOKED_THROUGH: usize = 8;
/// Letters of one.
const LONGEST: usize = 600;

#[async_trait]
impl PatchRecall for RepositoryMemoryRecall {
    async fn relevant(&self, seen: &str, most: usize) -> Vec<String> {
        let scope = MemoryScope { tag: None, repository: Some(self.repository.clone()) };
        let found = match self.memory.relevant(seen, &scope, most * LOOKED_THROUGH).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!("nothing is remembered: {error}");
                return Vec::new();
            }
        };
        found
            .memories
            .into_iter()
            .map(|found| found.memory)
            .filter(|memory| memory.at_ms < self.before_ms && memory.tag != MemoryTag::Feedback.name())
            .take(most)
            .map(|memory| {
                format!("{} → {}", shortened(&memory.prompt, LONGEST), shortened(&memory.response, LONGEST))
            })
            .collect()
    }
}
