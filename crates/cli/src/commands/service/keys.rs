//! `menace keys`: API keys of the sandbox service.

use std::io::Write;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use menace_server::gateway::{ApiKey, new_key};
use menace_server::sandboxes::Quota;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::arguments::{KeysCommand, KeysCreateArguments};
use crate::commands::usage::UsageError;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, note, print, print_json};
use menace_app::tracking::lock;

/// Content of `api_keys.json`.
#[derive(Debug, Serialize, Deserialize)]
struct ApiKeyFile {
    version: u32,
    keys: Vec<ApiKey>,
}

pub(in crate::commands) fn run(
    configuration: &Configuration,
    command: &KeysCommand,
) -> anyhow::Result<MenaceExit> {
    match command {
        KeysCommand::Create(arguments) => create(configuration, arguments)?,
        KeysCommand::List(output) => list(configuration, output.json)?,
        KeysCommand::Revoke { key, output } => revoke(configuration, key, output.json)?,
    }
    Ok(MenaceExit::Done)
}

/// All keys of the data directory.
pub(super) fn read(configuration: &Configuration) -> anyhow::Result<Vec<ApiKey>> {
    let path = path(configuration);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", path.display())),
    };
    // An unreadable file must not disable authentication.
    let file: ApiKeyFile =
        serde_json::from_str(&text).with_context(|| format!("failed to parse {}", path.display()))?;
    Ok(file.keys)
}

fn path(configuration: &Configuration) -> PathBuf {
    configuration.data_directory().join("api_keys.json")
}

/// Replaces the file under a lock.
fn change<T>(
    configuration: &Configuration,
    change: impl FnOnce(&mut Vec<ApiKey>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let path = path(configuration);
    let directory = configuration.data_directory();
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("failed to create {}", directory.display()))?;
    let _lock = lock(&path)?;
    let mut keys = read(configuration)?;
    let changed = change(&mut keys)?;
    let mut file = tempfile::NamedTempFile::new_in(&directory)?;
    serde_json::to_writer_pretty(&mut file, &ApiKeyFile { version: 1, keys })?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(&path).with_context(|| format!("failed to write {}", path.display()))?;
    Ok(changed)
}

fn now_ms() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

fn create(configuration: &Configuration, arguments: &KeysCreateArguments) -> anyhow::Result<()> {
    let quota = Quota {
        sandboxes: arguments.max_sandboxes,
        cpus: arguments.max_cpus,
        memory: arguments.max_memory,
        disk: arguments.max_disk,
    };
    let expires = arguments
        .expires
        .map(|time| now_ms().saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)));
    let (text, key) = new_key(&arguments.name, quota, expires);
    let id = key.id.clone();
    change(configuration, |keys| {
        keys.push(key);
        Ok(())
    })?;
    if arguments.output.json {
        return print_json(&json!({ "key": text, "id": id }));
    }
    note("store the key now; it is not shown again");
    print(&format!("{text}\n"))
}

fn state(key: &ApiKey) -> &'static str {
    match key {
        ApiKey { revoked_ms: Some(_), .. } => "revoked",
        ApiKey { expires_ms: Some(end), .. } if *end <= now_ms() => "expired",
        _ => "good",
    }
}

fn list(configuration: &Configuration, json: bool) -> anyhow::Result<()> {
    let keys = read(configuration)?;
    if json {
        let shown = |key: &ApiKey| {
            json!({
                "id": key.id, "name": key.name, "state": state(key), "created_ms": key.created_ms,
                "expires_ms": key.expires_ms, "revoked_ms": key.revoked_ms, "quota": key.quota,
            })
        };
        return print_json(&keys.iter().map(shown).collect::<Vec<_>>());
    }
    if keys.is_empty() {
        note("no keys; create one with: menace keys create");
        return Ok(());
    }
    let mut table = TextTable::new(&[
        ("key", ColumnAlignment::Left),
        ("name", ColumnAlignment::Left),
        ("state", ColumnAlignment::Left),
        ("sandboxes", ColumnAlignment::Right),
        ("cores", ColumnAlignment::Right),
        ("memory", ColumnAlignment::Right),
        ("disk", ColumnAlignment::Right),
    ]);
    let most = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let mebibytes = |bytes: u64| format!("{} MiB", bytes >> 20);
    for key in &keys {
        table.row([
            format!("mnc_{}_…", key.id).into(),
            key.name.clone().into(),
            state(key).to_owned().into(),
            most(key.quota.sandboxes.map(|count| count.to_string())).into(),
            most(key.quota.cpus.map(|cores| cores.to_string())).into(),
            most(key.quota.memory.map(mebibytes)).into(),
            most(key.quota.disk.map(mebibytes)).into(),
        ]);
    }
    print(&table.text())
}

fn revoke(configuration: &Configuration, which: &str, json: bool) -> anyhow::Result<()> {
    let wanted = which.trim_start_matches("mnc_");
    let id = change(configuration, |keys| {
        let is_it = |key: &&mut ApiKey| {
            key.revoked_ms.is_none() && (wanted.starts_with(&key.id) || key.name == which)
        };
        let key = keys.iter_mut().find(is_it).ok_or_else(|| UsageError::NoSuchKey(which.to_owned()))?;
        key.revoked_ms = Some(now_ms());
        Ok(key.id.clone())
    })?;
    if json {
        return print_json(&json!({ "revoked": id }));
    }
    note(&format!("revoked mnc_{id}_…; a running server rejects it within a second"));
    Ok(())
}
