//! Arguments of `menace memory`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use menace_engine::memory::{MemoryRetention, MemoryTag};
use menace_model::settings::SettingValue;

use super::JsonOutput;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Store a prompt and its response
    Log(MemoryLogArguments),
    /// Search memories, best match first
    Search(MemorySearchArguments),
    /// List memories, newest first
    List(MemoryListArguments),
    /// Delete all but the newest memories of each tag
    Compact(MemoryCompactArguments),
}

#[derive(Debug, Args)]
pub(crate) struct MemoryLogArguments {
    /// Kind of memory: FEEDBACK, IMPROVEMENT_PATH, ERROR_FIX or INSIGHT
    #[arg(long, value_parser = tag)]
    pub(crate) tag: MemoryTag,
    /// Section that the memory is about, such as shop.cart:add
    #[arg(long, default_value = "", hide_default_value = true, value_name = "MODULE:FUNCTION")]
    pub(crate) section: String,
    /// Question or observation to store
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: String,
    /// Answer or lesson to store; - reads it from stdin
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT",
        allow_hyphen_values = true
    )]
    pub(crate) response: String,
    /// Repository that the memory is about [default: SANDBOX_REPO_PATH, else the working directory]
    #[arg(long, value_name = "PATH")]
    pub(crate) repo: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
pub(crate) struct MemorySearchArguments {
    /// Text to search for; a match on any of its words is enough
    #[arg(allow_hyphen_values = true)]
    pub(crate) query: String,
    /// Show only memories with this tag: FEEDBACK, IMPROVEMENT_PATH, ERROR_FIX or INSIGHT
    #[arg(long, value_parser = tag)]
    pub(crate) tag: Option<MemoryTag>,
    /// Maximum number of memories to show; 0 shows all
    #[arg(long, default_value_t = 10, value_name = "ROWS")]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryListArguments {
    /// Show only memories with this tag: FEEDBACK, IMPROVEMENT_PATH, ERROR_FIX or INSIGHT
    #[arg(long, value_parser = tag)]
    pub(crate) tag: Option<MemoryTag>,
    /// Maximum number of memories to show; 0 shows all
    #[arg(long, default_value_t = 20, value_name = "ROWS")]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryCompactArguments {
    /// Memories to keep per tag, such as insight=40,error_fix=20 [default: GPT_MEMORY_RETENTION]
    #[arg(long, value_name = "TAG=COUNT,…", value_parser = retention)]
    pub(crate) retention: Option<MemoryRetention>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

fn tag(label: &str) -> Result<MemoryTag, String> {
    MemoryTag::parse(label).ok_or_else(|| format!("use one of {}", MemoryTag::names()))
}

fn retention(text: &str) -> Result<MemoryRetention, String> {
    let counts = BTreeMap::<String, usize>::parse(text).filter(|counts| !counts.is_empty());
    let expected = "expected a number per tag, such as insight=40,error_fix=20";
    MemoryRetention::of_counts(&counts.ok_or(expected)?).map_err(|error| format!("{error}; {expected}"))
}
