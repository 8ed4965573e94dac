//! Recall of memories for prompts.

use async_trait::async_trait;
use menace_engine::memory::{Memory, MemoryScope, MemoryTag};
use menace_engine::proposers::PatchRecall;
use menace_store::Store;

use crate::calling;
use crate::text::shortened;
use crate::{AppContext, AppError};

/// The memory of a run.
pub(super) fn memory(context: &AppContext, store: &Store) -> Result<Memory, AppError> {
    Ok(calling::memory(context, store.clone())?)
}

/// Recalls memories of a repository from before a time. Later ones are left out, so that a resumed cycle sends the same
/// prompts.
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

/// Number of memories to fetch for each one in the prompt, because some are filtered out.
const FETCH_FACTOR: usize = 8;
/// Maximum length of a prompt or answer in a memory.
const MAX_LENGTH: usize = 600;

#[async_trait]
impl PatchRecall for RepositoryMemoryRecall {
    async fn relevant(&self, seen: &str, most: usize) -> Vec<String> {
        let scope = MemoryScope { tag: None, repository: Some(self.repository.clone()) };
        let found = match self.memory.relevant(seen, &scope, most * FETCH_FACTOR).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!("failed to search the memory: {error}");
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
                format!(
                    "{} → {}",
                    shortened(&memory.prompt, MAX_LENGTH),
                    shortened(&memory.response, MAX_LENGTH)
                )
            })
            .collect()
    }
}
