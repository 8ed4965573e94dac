//! Finding: by words, and by meaning where somebody says what things mean.

use std::collections::HashMap;

use menace_store::{MemoryFilter, MemoryRecord};
use serde::Serialize;

use super::embed::{EmbedError, meaning};
use super::rank::{fused, nearness};
use super::{Embed, Memory, MemoryError, Tag};

/// Among which memories.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Only with this tag.
    pub tag: Option<Tag>,
    /// Only of this repository.
    pub repository: Option<String>,
}

/// How memories were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Looked {
    /// By their words.
    Words,
    /// By their words and by what they mean: some mean something near.
    WordsAndMeaning,
}

/// A memory that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// The memory.
    #[serde(flatten)]
    pub memory: MemoryRecord,
    /// What its places in the rankings are worth together; only to be compared within one answer.
    pub score: f64,
}

/// Memories that have to do with a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Relevant {
    /// The best first.
    pub memories: Vec<Found>,
    /// How they were found.
    pub looked: Looked,
    /// Why meanings were not compared, if there is somebody who says what things mean.
    pub problem: Option<String>,
}

/// Places of each ranking that are looked at, at least: what is far down in both is found for small answers too.
const DEPTH: usize = 50;
/// Meanings that are read at once.
const PAGE: u64 = 500;

impl Memory {
    /// Memories that have to do with a question, at most so many.
    pub async fn relevant(
        &self,
        question: &str,
        scope: &Scope,
        most: usize,
    ) -> Result<Relevant, MemoryError> {
        let depth = most.max(DEPTH);
        let by_words = self.store.search_memories(question, &filter(scope, depth as u64)).await?;
        let mut rankings = vec![by_words.iter().map(|memory| memory.id).collect::<Vec<u64>>()];
        let (mut looked, mut problem) = (Looked::Words, None);
        if let Some(embedder) = self.embedder.as_deref() {
            match self.meaning_of(embedder, question).await {
                Ok(Some(meaning)) => {
                    let near = self.by_meaning(embedder.name(), &meaning, scope, depth).await?;
                    if !near.is_empty() {
                        looked = Looked::WordsAndMeaning;
                    }
                    rankings.push(near);
                }
                Ok(None) => {}
                Err(error) => {
                    let text = (self.scrub)(&error.to_string());
                    tracing::warn!("memories are searched by their words only: {text}");
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
                // It may have been compacted just now.
                None => match self.store.memory(id).await {
                    Err(menace_store::StoreError::NoMemory(_)) => continue,
                    memory => memory?,
                },
            };
            memories.push(Found { memory, score });
        }
        Ok(Relevant { memories, looked, problem })
    }

    /// What a question means; one without a letter means nothing.
    async fn meaning_of(&self, embedder: &dyn Embed, question: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        if question.trim().is_empty() {
            return Ok(None);
        }
        meaning(embedder, (self.scrub)(question)).await.map(Some)
    }

    /// The nearest memories. They are read in pages, so that what is held does not grow with what is remembered.
    async fn by_meaning(
        &self,
        embedder: &str,
        meaning: &[f32],
        scope: &Scope,
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

fn filter(scope: &Scope, limit: u64) -> MemoryFilter {
    MemoryFilter {
        tag: scope.tag.map(|tag| tag.name().to_owned()),
        repository: scope.repository.clone(),
        limit,
    }
}
