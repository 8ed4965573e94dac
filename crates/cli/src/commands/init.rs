//! `menace init`: a `.env` with defaults, and the data directory.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use anyhow::Context;
use menace_model::settings::{dotenv_template, mentioned_names};

use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{count, note};

const DOT_ENV: &str = ".env";

pub(super) fn run(configuration: &Configuration) -> anyhow::Result<MenaceExit> {
    let existing = match std::fs::read_to_string(DOT_ENV) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).context("failed to read .env"),
    };
    let known = mentioned_names(&existing);
    let missing = dotenv_template(&known);
    if missing.trim().is_empty() {
        note(".env already has every setting");
    } else {
        append(&existing, &missing)?;
        let added = mentioned_names(&missing).difference(&known).count();
        note(&format!("wrote {} to .env, {} kept", count(added, "setting"), known.len()));
    }
    let directory = configuration.data_directory();
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("failed to create data directory {}", directory.display()))?;
    note(&format!("data directory {} is ready", directory.display()));
    Ok(MenaceExit::Done)
}

/// Appends, so that existing lines are never rewritten. The file holds secrets, so only its owner may read it.
fn append(existing: &str, missing: &str) -> anyhow::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(DOT_ENV)
        .context("failed to open .env for writing")?;
    let separator = if existing.is_empty() || existing.ends_with('\n') { "" } else { "\n" };
    file.write_all(format!("{separator}{missing}").as_bytes()).context("failed to write .env")
}
