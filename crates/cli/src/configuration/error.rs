//! Errors in configuration files.

use std::path::PathBuf;

use thiserror::Error;

/// A configuration file that cannot be used.
#[derive(Debug, Error)]
pub(crate) enum ConfigurationError {
    #[error("failed to read {path}: {source}\nhint: unset SANDBOX_SETTINGS_YAML, or create the file")]
    ReadYaml { path: PathBuf, source: std::io::Error },
    #[error("failed to parse {path}: {source}")]
    ParseYaml { path: PathBuf, source: Box<serde_saphyr::Error> },
    #[error(
        "{path}: keyword_profiles is not a mapping of words to profiles\nhint: write it as `keyword_profiles:`, then `  cache: [concurrency_spike]`"
    )]
    KeywordProfiles { path: PathBuf },
    #[error(
        "{path} is not a mapping of settings\nhint: write one `name: value` per line; `menace config` lists the names"
    )]
    NotAMapping { path: PathBuf },
    #[error(
        "failed to parse .env: {source}\nhint: write one NAME=value per line, values with spaces in quotes"
    )]
    ParseDotEnv { source: dotenvy::Error },
}
