//! The arguments of `menace memory`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use menace_engine::memory::{MemoryRetention, MemoryTag};
use menace_model::settings::SettingValue;

use super::JsonOutput;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Remember something that was asked and answered
    Log(MemoryLogArguments),
    /// Find memories that have to do with a question, the best first
    Search(MemorySearchArguments),
    /// List memories, the newest first
    List(MemoryListArguments),
    /// Keep only the newest memories of each tag
    Compact(MemoryCompactArguments),
}

#[derive(Debug, Args)]
pub(crate) struct MemoryLogArguments {
    /// FEEDBACK, IMPROVEMENT_PATH, ERROR_FIX or INSIGHT
    #[arg(long, value_parser = tag)]
    pub(crate) tag: MemoryTag,
    /// The section it is about, such as shop.cart:add
    #[arg(long, default_value = "", hide_default_value = true, value_name = "MODULE:FUNCTION")]
    pub(crate) section: String,
    /// What was asked or seen
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: String,
    /// What was answered or learned; - reads it from stdin
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT",
        allow_hyphen_values = true
    )]
    pub(crate) response: String,
    /// The repository it is about; without it SANDBOX_REPO_PATH, else the working directory
    #[arg(long, value_name = "PATH")]
    pub(crate) repo: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
pub(crate) struct MemorySearchArguments {
    /// What to look for: any text, of which any word is enough
    #[arg(allow_hyphen_values = true)]
    pub(crate) query: String,
    /// Only memories with this tag: FEEDBACK, IMPROVEMENT_PATH, ERROR_FIX or INSIGHT
    #[arg(long, value_parser = tag)]
    pub(crate) tag: Option<MemoryTag>,
    /// How many memories are shown at most; 0 shows all
    #[arg(long, default_value_t = 10, value_name = "ROWS")]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryListArguments {
    /// Only memories with this tag: FEEDBACK, IMPROVEMENT_PATH, ERROR_FIX or INSIGHT
    #[arg(long, value_parser = tag)]
    pub(crate) tag: Option<MemoryTag>,
    /// How many memories are shown at most; 0 shows all
    #[arg(long, default_value_t = 20, value_name = "ROWS")]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryCompactArguments {
    /// How many memories of each tag are kept, such as insight=40,error_fix=20; without it GPT_MEMORY_RETENTION
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
    let counts = counts.ok_or("write it as insight=40,error_fix=20")?;
    MemoryRetention::of_counts(&counts).map_err(|error| error.to_string())
}
