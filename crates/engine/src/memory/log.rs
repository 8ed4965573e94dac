//! Remembering: a memory is scrubbed, kept, told, and given a meaning; old ones go when it is time.

use std::sync::Arc;
use std::time::Duration;

use menace_store::{NewMemory, Store};

use super::embed::meaning;
use super::{Embed, MemoryError, Retention, Tag};
use crate::events::{Bus, Event};

/// What is remembered, and how.
pub struct Memory {
    /// Where it is kept.
    pub store: Store,
    /// Who says what a memory means; without one only words are found.
    pub embedder: Option<Arc<dyn Embed>>,
    /// How many memories are kept.
    pub retention: Retention,
    /// The time between two compactions; nothing means that none is made by itself.
    pub compact_interval: Option<Duration>,
    /// Takes secrets out of a text before it is kept or sent.
    pub scrub: fn(&str) -> String,
}

/// Something that was asked and answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interaction {
    /// What kind of memory.
    pub tag: Tag,
    /// The repository it is about.
    pub repository: String,
    /// The section it is about, as `module:qualname`; empty if it is about more.
    pub section: String,
    /// What was asked or seen.
    pub prompt: String,
    /// What was answered or learned.
    pub response: String,
}

/// What became of something that was to be remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct Logged {
    /// Its number.
    pub id: u64,
    /// Why it has no meaning, if there is somebody who should have given it one.
    pub problem: Option<String>,
    /// How many memories of each tag were removed, if it was time.
    pub compacted: Option<Vec<(Tag, u64)>>,
}

/// The longest summary of a memory, in characters.
const SUMMARY: usize = 80;

impl Memory {
    /// Remembers something, without its secrets, and tells it.
    ///
    /// It is kept before anybody is asked what it means: an embedder that fails or takes for ever costs no memory.
    pub async fn log(
        &self,
        interaction: &Interaction,
        now_ms: i64,
        bus: Option<&Bus>,
    ) -> Result<Logged, MemoryError> {
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
            let event = Event::MemoryNew { id, tag: interaction.tag, summary: summary(&new) };
            bus.tell(event, now_ms).await?;
        }
        let problem = self.give_meaning(id, &new).await?;
        let compacted = if self.is_time(now_ms).await? { Some(self.compact(now_ms).await?) } else { None };
        Ok(Logged { id, problem, compacted })
    }

    /// Keeps the newest memories of each tag: how many of each were removed.
    pub async fn compact(&self, now_ms: i64) -> Result<Vec<(Tag, u64)>, MemoryError> {
        let removed = self.store.compact_memories(&self.retention.counts(), now_ms).await?;
        Ok(removed.into_iter().filter_map(|(name, count)| Some((Tag::parse(&name)?, count))).collect())
    }

    /// Asks what a memory means: why it was not said.
    async fn give_meaning(&self, id: u64, new: &NewMemory) -> Result<Option<String>, MemoryError> {
        let Some(embedder) = self.embedder.as_deref() else { return Ok(None) };
        match meaning(embedder, format!("{}\n{}", new.prompt, new.response)).await {
            Ok(meaning) => {
                self.store.set_embedding(id, embedder.name(), &meaning).await?;
                Ok(None)
            }
            Err(error) => {
                let problem = (self.scrub)(&error.to_string());
                tracing::warn!("memory {id} is found by its words only: {problem}");
                Ok(Some(problem))
            }
        }
    }

    /// Whether the last compaction is long enough ago. A clock that was set back must not put it off for ever.
    async fn is_time(&self, now_ms: i64) -> Result<bool, MemoryError> {
        let Some(interval) = self.compact_interval else { return Ok(false) };
        if self.retention.is_everything() {
            return Ok(false);
        }
        let interval = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
        let last = self.store.last_compaction().await?;
        Ok(last.is_none_or(|last| now_ms < last || now_ms.saturating_sub(last) >= interval))
    }
}

/// The first line with words, short enough for a list.
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
