//! The memory, as the settings want it.

use std::sync::Arc;

use menace_engine::memory::{Memory, MemoryRetention, TextEmbedder};
use menace_engine::proposers::llm::HttpEmbedder;
use menace_engine::secrets::scrubbed;
use menace_store::Store;

use super::endpoint::endpoint;
use crate::{AppContext, RequestError};

/// The memory in a database, and who says what memories mean, if a model for that is named.
pub fn memory(context: &AppContext, store: Store) -> Result<Memory, RequestError> {
    let settings = &context.settings().language_model;
    Ok(Memory {
        store,
        embedder: embedder(context),
        retention: MemoryRetention::of_counts(&settings.gpt_memory_retention)?,
        compact_interval: settings.gpt_memory_compact_interval,
        scrub: scrubbed,
    })
}

fn embedder(context: &AppContext) -> Option<Arc<dyn TextEmbedder>> {
    let model = context.settings().language_model.embedding_model.as_ref()?;
    match HttpEmbedder::new(endpoint(context, model)?) {
        Ok(embedder) => Some(Arc::new(embedder)),
        Err(error) => {
            tracing::warn!("memories are found by their words only: {error}");
            None
        }
    }
}
