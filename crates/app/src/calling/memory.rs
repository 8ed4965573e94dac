//! Construction of the memory from the settings.

use std::sync::Arc;

use menace_engine::memory::{Memory, MemoryRetention, TextEmbedder};
use menace_engine::proposers::llm::HttpEmbedder;
use menace_engine::secrets::scrubbed;
use menace_store::Store;

use super::endpoint::endpoint;
use crate::{AppContext, RequestError};

/// The memory in a store, with an embedding model if one is configured.
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
            tracing::warn!("failed to start the embedding model; memory search uses words only: {error}");
            None
        }
    }
}
