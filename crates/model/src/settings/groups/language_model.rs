//! Settings of the language model and of the memory of what it said.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::settings::Secret;

settings! {
    /// The language model and its memory.
    pub struct LanguageModelSettings;

    /// Key for the language model; without one only built-in transformations propose patches
    openai_api_key: Option<Secret> = "" {
        env: "OPENAI_API_KEY",
        secret: true,
        status: Planned,
    }

    /// Template file for prompts about a section; nothing means the built-in ones
    gpt_section_template: Option<PathBuf> = "" {
        env: "GPT_SECTION_TEMPLATE",
        status: Planned,
    }

    /// Longest prompt about a section, in characters; nothing means no limit
    gpt_section_prompt_max_length: Option<usize> = "" {
        env: "GPT_SECTION_PROMPT_MAX_LENGTH",
        status: Planned,
    }

    /// Memories kept of each tag, such as insight=40; tags that are not named keep all
    gpt_memory_retention: BTreeMap<String, usize> = "" {
        env: "GPT_MEMORY_RETENTION",
        status: Planned,
    }

    /// Time between two compactions of the memory, in seconds; nothing means never
    gpt_memory_compact_interval: Option<Duration> = "" {
        env: "GPT_MEMORY_COMPACT_INTERVAL",
        status: Planned,
    }
}
