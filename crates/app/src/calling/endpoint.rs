//! Endpoints of language models.

use crate::AppContext;
use menace_engine::proposers::llm::ModelEndpoint;

/// Base URL of the `OpenAI` API.
const OPENAI: &str = "https://api.openai.com/v1";

/// Endpoint of a model; `None` if neither a base URL nor an API key is configured.
pub fn endpoint(context: &AppContext, model: &str) -> Option<ModelEndpoint> {
    let settings = &context.settings().language_model;
    let base_url = settings.openai_base_url.clone().filter(|address| !address.trim().is_empty());
    if base_url.is_none() && settings.openai_api_key.is_none() {
        return None;
    }
    Some(ModelEndpoint {
        base_url: base_url.unwrap_or_else(|| OPENAI.to_owned()),
        key: settings.openai_api_key.clone(),
        model: model.to_owned(),
        timeout: settings.model_timeout,
        per_minute: settings.model_requests_per_minute,
    })
}
