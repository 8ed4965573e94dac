//! Settings of the language model and of the memory of what it said.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::settings::{ModelPrices, Secret};

settings! {
    /// The language model and its memory.
    pub struct LanguageModelSettings;

    /// Key for the language model; without one only built-in transformations propose patches
    openai_api_key: Option<Secret> = "" {
        env: "OPENAI_API_KEY",
        secret: true,
        status: Active,
    }

    /// Address of an OpenAI-compatible endpoint, up to and with /v1
    openai_base_url: Option<String> = "" {
        env: "OPENAI_BASE_URL",
        secret: true,
        status: Active,
    }

    /// Model that is asked for patches
    model: String = "gpt-4" {
        env: "SANDBOX_MODEL",
        status: Active,
    }

    /// Model at the same endpoint that says what memories mean; nothing means a search by words
    embedding_model: Option<String> = "" {
        env: "SANDBOX_EMBEDDING_MODEL",
        status: Active,
    }

    /// Prices for a million tokens in and out, such as gpt-4=30/60; others are unknown
    model_prices: ModelPrices = "" {
        env: "SANDBOX_MODEL_PRICES",
        status: Active,
    }

    /// Longest answer of a model, in tokens
    model_answer_length: u64 = "4096" {
        env: "SANDBOX_MODEL_ANSWER_LENGTH",
        status: Active,
    }

    /// How long a model may take for one answer, in seconds
    model_timeout: Duration = "120" {
        env: "SANDBOX_MODEL_TIMEOUT",
        status: Active,
    }

    /// Requests to a model in one minute; 0 means no limit
    model_requests_per_minute: u32 = "60" {
        env: "SANDBOX_MODEL_REQUESTS_PER_MINUTE",
        status: Active,
    }

    /// File to which everything that a model is asked and answers is added
    model_record: Option<PathBuf> = "" {
        env: "SANDBOX_MODEL_RECORD",
        status: Active,
    }

    /// File with recorded answers, which are taken instead of asking anybody
    model_replay: Option<PathBuf> = "" {
        env: "SANDBOX_MODEL_REPLAY",
        status: Active,
    }

    /// Template file for prompts about a section; nothing means the built-in ones
    gpt_section_template: Option<PathBuf> = "" {
        env: "GPT_SECTION_TEMPLATE",
        status: Active,
    }

    /// Longest prompt about a section, in characters; nothing means no limit
    gpt_section_prompt_max_length: Option<usize> = "" {
        env: "GPT_SECTION_PROMPT_MAX_LENGTH",
        status: Active,
    }

    /// Memories kept of each tag, such as insight=40; tags that are not named keep all
    gpt_memory_retention: BTreeMap<String, usize> = "" {
        env: "GPT_MEMORY_RETENTION",
        status: Active,
    }

    /// Time between two compactions of the memory, in seconds; nothing means never
    gpt_memory_compact_interval: Option<Duration> = "" {
        env: "GPT_MEMORY_COMPACT_INTERVAL",
        status: Active,
    }
}
