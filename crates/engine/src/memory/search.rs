//! Search of memories: by words, and by meaning if there is an embedder.

use std::collections::HashMap;

use menace_store::{MemoryFilter, MemoryRecord};
use serde::Serialize;

use super::embedder::{EmbeddingError, meaning};
use super::rank::{fused, nearness};
use super::{Memory, MemoryError, MemoryTag, TextEmbedder};

/// Filter of a search.
#[derive(Debug, Clone, Default)]
pub struct MemoryScope {
    /// Tag of the memories.
    pub tag: Option<MemoryTag>,
    /// Repository of the memories.
    pub repository: Option<String>,
}

/// Method of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySearchMethod {
    /// Words only.
    Words,
    /// Words and meaning: at least one memory has a similar embedding.
    WordsAndMeaning,
}

/// A memory with its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoredMemory {
    /// The memory.
    #[serde(flatten)]
    pub memory: MemoryRecord,
    /// Fused score of its ranks; comparable within one search only.
    pub score: f64,
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct RelevantMemories {
    /// Memories, the best first.
    pub memories: Vec<ScoredMemory>,
    /// Method of the search.
    pub looked: MemorySearchMethod,
    /// Error of the embedder, if the search was by words only because of it.
    pub problem: Option<String>,
}

/// Minimum depth of each ranking, so that a small search also finds memories far down in both.
const DEPTH: usize = 50;
/// Embeddings read per query.
const PAGE: u64 = 500;

impl Memory {
    /// Finds at most `most` memories relevant to a question.
    pub async fn relevant(
        &self,
        question: &str,
        scope: &MemoryScope,
        most: usize,
    ) -> Result<RelevantMemories, MemoryError> {
        let depth = most.max(DEPTH);
        let by_words = self.store.search_memories(question, &filter(scope, depth as u64)).await?;
        let mut rankings = vec![by_words.iter().map(|memory| memory.id).collect::<Vec<u64>>()];
        let (mut looked, mut problem) = (MemorySearchMethod::Words, None);
        if let Some(embedder) = self.embedder.as_deref() {
            match self.meaning_of(embedder, question).await {
                Ok(Some(meaning)) => {
                    let near = self.by_meaning(embedder.name(), &meaning, scope, depth).await?;
                    if !near.is_empty() {
                        looked = MemorySearchMethod::WordsAndMeaning;
                    }
                    rankings.push(near);
                }
                Ok(None) => {}
                Err(error) => {
                    let text = (self.scrub)(&error.to_string());
                    tracing::warn!("memories are searched by words only: {text}");
                    problem = Some(text);
                }
            }
        }
        let mut known: HashMap<u64, MemoryRecord> =
            by_words.into_iter().map(|memory| (memory.id, memory)).collect();
        let mut memories = Vec::new();
        for (id, score) in fused(&rankings).into_iter().take(most) {
            let memory = match known.remove(&id) {
                Some(memory) => memory,
                // It may have been compacted since the ranking.
                None => match self.store.memory(id).await {
                    Err(menace_store::StoreError::NoMemory(_)) => continue,
                    memory => memory?,
                },
            };
            memories.push(ScoredMemory { memory, score });
        }
        Ok(RelevantMemories { memories, looked, problem })
    }

    /// Embedding of a question; `None` for a blank one.
    async fn meaning_of(
        &self,
        embedder: &dyn TextEmbedder,
        question: &str,
    ) -> Result<Option<Vec<f32>>, EmbeddingError> {
        if question.trim().is_empty() {
            return Ok(None);
        }
        meaning(embedder, (self.scrub)(question)).await.map(Some)
    }

    /// Most similar memories. They are read in pages, so that memory use does not grow with their number.
    async fn by_meaning(
        &self,
        embedder: &str,
        meaning: &[f32],
        scope: &MemoryScope,
        depth: usize,
    ) -> Result<Vec<u64>, MemoryError> {
        let mut nearest: Vec<(u64, f64)> = Vec::new();
        let mut after = 0;
        loop {
            let page = self.store.memory_embeddings(embedder, after, &filter(scope, PAGE)).await?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            let near = page.iter().filter_map(|(id, other)| Some((*id, nearness(meaning, other)?)));
            nearest.extend(near.filter(|(_, nearness)| *nearness > 0.0));
            nearest.sort_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
            nearest.truncate(depth);
        }
        Ok(nearest.into_iter().map(|(id, _)| id).collect())
    }
}

fn filter(scope: &MemoryScope, limit: u64) -> MemoryFilter {
    MemoryFilter {
        tag: scope.tag.map(|tag| tag.name().to_owned()),
        repository: scope.repository.clone(),
        limit,
    }
}
