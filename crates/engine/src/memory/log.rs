//! Storing of memories: secrets are masked, the memory is stored, published and embedded; old memories are compacted.

use std::sync::Arc;
use std::time::Duration;

use menace_store::{NewMemory, Store};

use super::embedder::meaning;
use super::{MemoryError, MemoryRetention, MemoryTag, TextEmbedder};
use crate::events::{RunEvent, RunEventBus};

/// Memory of prompts, answers and lessons.
pub struct Memory {
    /// Database of the memories.
    pub store: Store,
    /// Embedder; without one, memories are searched by words only.
    pub embedder: Option<Arc<dyn TextEmbedder>>,
    /// Number of memories that are kept.
    pub retention: MemoryRetention,
    /// Interval of automatic compaction; `None` disables it.
    pub compact_interval: Option<Duration>,
    /// Masks secrets in a text before it is stored or sent.
    pub scrub: fn(&str) -> String,
}

/// A prompt and its response.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptInteraction {
    /// Tag of the memory.
    pub tag: MemoryTag,
    /// Repository.
    pub repository: String,
    /// Section, as `module:qualname`; empty if it concerns several.
    pub section: String,
    /// Prompt or observation.
    pub prompt: String,
    /// Answer or lesson.
    pub response: String,
}

/// Result of storing a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedMemory {
    /// Id of the memory.
    pub id: u64,
    /// Error of the embedder, if the memory was not embedded.
    pub problem: Option<String>,
    /// Number of removed memories by tag, if a compaction was due.
    pub compacted: Option<Vec<(MemoryTag, u64)>>,
}

/// Maximum length of a summary, in characters.
const SUMMARY: usize = 80;

impl Memory {
    /// Stores an interaction, with secrets masked, and publishes an event.
    ///
    /// It is stored before it is embedded, so that a failing or hanging embedder loses no memory.
    pub async fn log(
        &self,
        interaction: &PromptInteraction,
        now_ms: i64,
        bus: Option<&RunEventBus>,
    ) -> Result<LoggedMemory, MemoryError> {
        let prompt = (self.scrub)(&interaction.prompt);
        let response = (self.scrub)(&interaction.response);
        if prompt.trim().is_empty() && response.trim().is_empty() {
            return Err(MemoryError::Empty);
        }
        let new = NewMemory {
            at_ms: now_ms,
            tag: interaction.tag.name().to_owned(),
            repository: interaction.repository.clone(),
            section: interaction.section.clone(),
            prompt,
            response,
        };
        let id = self.store.add_memory(&new).await?;
        if let Some(bus) = bus {
            let event = RunEvent::MemoryNew { id, tag: interaction.tag, summary: summary(&new) };
            bus.publish(event, now_ms).await?;
        }
        let problem = self.add_embedding(id, &new).await?;
        let compacted =
            if self.is_compaction_due(now_ms).await? { Some(self.compact(now_ms).await?) } else { None };
        Ok(LoggedMemory { id, problem, compacted })
    }

    /// Removes all but the newest memories of each tag; returns the number removed by tag.
    pub async fn compact(&self, now_ms: i64) -> Result<Vec<(MemoryTag, u64)>, MemoryError> {
        let removed = self.store.compact_memories(&self.retention.counts(), now_ms).await?;
        Ok(removed.into_iter().filter_map(|(name, count)| Some((MemoryTag::parse(&name)?, count))).collect())
    }

    /// Embeds a memory; returns the error of the embedder, if any.
    async fn add_embedding(&self, id: u64, new: &NewMemory) -> Result<Option<String>, MemoryError> {
        let Some(embedder) = self.embedder.as_deref() else { return Ok(None) };
        match meaning(embedder, format!("{}\n{}", new.prompt, new.response)).await {
            Ok(meaning) => {
                self.store.set_embedding(id, embedder.name(), &meaning).await?;
                Ok(None)
            }
            Err(error) => {
                let problem = (self.scrub)(&error.to_string());
                tracing::warn!("memory {id} is not embedded and is found by words only: {problem}");
                Ok(Some(problem))
            }
        }
    }

    /// Whether a compaction is due. A clock that was set back must not postpone it.
    async fn is_compaction_due(&self, now_ms: i64) -> Result<bool, MemoryError> {
        let Some(interval) = self.compact_interval else { return Ok(false) };
        if self.retention.is_everything() {
            return Ok(false);
        }
        let interval = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
        let last = self.store.last_compaction().await?;
        Ok(last.is_none_or(|last| now_ms < last || now_ms.saturating_sub(last) >= interval))
    }
}

/// First non-empty line, shortened for lists.
fn summary(new: &NewMemory) -> String {
    let mut lines = new.prompt.lines().chain(new.response.lines()).map(str::trim);
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let mut letters = line.chars().filter(|letter| !letter.is_control());
    let mut summary: String = letters.by_ref().take(SUMMARY - 1).collect();
    match (letters.next(), letters.next()) {
        (Some(last), None) => summary.push(last),
        (Some(_), Some(_)) => summary.push('…'),
        (None, _) => {}
    }
    summary
}
