//! Settings of the language model and of its memory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::settings::{ModelPrices, Secret};

settings! {
    /// The language model and its memory.
    pub struct LanguageModelSettings;

    /// API key of the language model; if unset, only the built-in transforms propose patches
    openai_api_key: Option<Secret> = "" {
        env: "OPENAI_API_KEY",
        secret: true,
        status: Active,
    }

    /// Base URL of an OpenAI-compatible endpoint, including /v1
    openai_base_url: Option<String> = "" {
        env: "OPENAI_BASE_URL",
        secret: true,
        status: Active,
    }

    /// Model that proposes patches
    model: String = "gpt-4" {
        env: "SANDBOX_MODEL",
        status: Active,
    }

    /// Embedding model of the memory, at the same endpoint; if unset, memory is searched by words
    embedding_model: Option<String> = "" {
        env: "SANDBOX_EMBEDDING_MODEL",
        status: Active,
    }

    /// Prices per million input and output tokens, such as gpt-4=30/60
    model_prices: ModelPrices = "" {
        env: "SANDBOX_MODEL_PRICES",
        status: Active,
    }

    /// Maximum length of an answer, in tokens
    model_answer_length: u64 = "4096" {
        env: "SANDBOX_MODEL_ANSWER_LENGTH",
        status: Active,
    }

    /// Timeout of a request to the model, in seconds
    model_timeout: Duration = "120" {
        env: "SANDBOX_MODEL_TIMEOUT",
        status: Active,
    }

    /// Maximum number of requests to the model per minute; 0 means no limit
    model_requests_per_minute: u32 = "60" {
        env: "SANDBOX_MODEL_REQUESTS_PER_MINUTE",
        status: Active,
    }

    /// File to which all prompts and answers are appended
    model_record: Option<PathBuf> = "" {
        env: "SANDBOX_MODEL_RECORD",
        status: Active,
    }

    /// File with recorded answers to replay instead of querying a model
    model_replay: Option<PathBuf> = "" {
        env: "SANDBOX_MODEL_REPLAY",
        status: Active,
    }

    /// Template file for prompts about a section; if unset, the built-in templates
    gpt_section_template: Option<PathBuf> = "" {
        env: "GPT_SECTION_TEMPLATE",
        status: Active,
    }

    /// Maximum length of a prompt about a section, in characters; if unset, no limit
    gpt_section_prompt_max_length: Option<usize> = "" {
        env: "GPT_SECTION_PROMPT_MAX_LENGTH",
        status: Active,
    }

    /// Number of memories to keep per tag, such as insight=40; other tags keep all
    gpt_memory_retention: BTreeMap<String, usize> = "" {
        env: "GPT_MEMORY_RETENTION",
        status: Active,
    }

    /// Interval between compactions of the memory, in seconds; if unset, never
    gpt_memory_compact_interval: Option<Duration> = "" {
        env: "GPT_MEMORY_COMPACT_INTERVAL",
        status: Active,
    }
}
