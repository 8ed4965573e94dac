//! Persistent sandboxes from the shell: the API of `menace serve`, called in the sandbox daemon without a server.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use menace_server::client::{DaemonClient, encoded};
use menace_server::sandboxes::{ExecuteResponse, SandboxPage, SandboxView};
use serde_json::{Value, json};

use crate::arguments::{BackendChoice, SandboxCreateArguments, SandboxExecArguments, SandboxIdArguments};
use crate::commands::service::client;
use crate::commands::usage::UsageError;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, note, print, print_json};
use menace_app::calling::runtime;

/// State change of a persistent sandbox.
pub(super) enum SandboxStateChange {
    Start,
    Stop,
    Pause,
    Resume,
}

impl SandboxStateChange {
    fn name(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }
}

pub(super) fn create(
    configuration: &Configuration,
    arguments: &SandboxCreateArguments,
) -> anyhow::Result<MenaceExit> {
    let backend = arguments.backend.map(|backend| match backend {
        BackendChoice::Native => "native",
        BackendChoice::Docker => "docker",
    });
    let labels: BTreeMap<&String, &String> =
        arguments.label.iter().map(|(name, value)| (name, value)).collect();
    let env: BTreeMap<&String, &String> = arguments.env.iter().map(|(name, value)| (name, value)).collect();
    let body = json!({
        "project_name": arguments.project, "memory_limit": arguments.memory, "cpu_limit": arguments.cpus,
        "disk_limit": arguments.disk, "ttl": arguments.ttl, "labels": labels, "env": env, "network": arguments.net,
        "backend": backend, "image": arguments.image, "snapshot": arguments.snapshot,
    });
    let made: SandboxView = with_client(configuration, async |client| {
        Ok(client.request_json("POST", "/api/sandboxes", Some(without_nulls(body))).await?)
    })?;
    shown(&made, arguments.output.json)
}

/// Removes fields of options that were not given.
fn without_nulls(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    body
}

fn with_client<T>(
    configuration: &Configuration,
    request: impl AsyncFnOnce(&DaemonClient) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let client = client(configuration)?;
    runtime()?.block_on(request(&client))
}

fn shown(view: &SandboxView, json: bool) -> anyhow::Result<MenaceExit> {
    let printed = if json { print_json(view) } else { print(&format!("{}\n", view.sandbox_id)) };
    printed.map(|()| MenaceExit::Done)
}

/// The full id of the only sandbox whose id has this prefix.
async fn full_id(client: &DaemonClient, prefix: &str) -> anyhow::Result<String> {
    let mut found: Vec<String> = all(client).await?.into_iter().map(|one| one.sandbox_id).collect();
    found.retain(|id| id.starts_with(prefix) || id.trim_start_matches("sb-").starts_with(prefix));
    match &found[..] {
        [only] => Ok(only.clone()),
        [] => Err(UsageError::NoSuchSandbox(prefix.to_owned()).into()),
        _ => Err(UsageError::SeveralSandboxes(prefix.to_owned(), found.len()).into()),
    }
}

async fn all(client: &DaemonClient) -> anyhow::Result<Vec<SandboxView>> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/sandboxes?limit=1000{cursor}");
        let page: SandboxPage = client.request_json("GET", &path, None).await?;
        all.extend(page.sandboxes);
        match page.next_cursor {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(all),
        }
    }
}

pub(super) fn list(configuration: &Configuration, json: bool) -> anyhow::Result<MenaceExit> {
    let all = with_client(configuration, async |client| all(client).await)?;
    if json {
        print_json(&all)?;
        return Ok(MenaceExit::Done);
    }
    if all.is_empty() {
        note("no sandboxes; create one with: menace sandbox create");
        return Ok(MenaceExit::Done);
    }
    let mut table = TextTable::new(&[
        ("sandbox", ColumnAlignment::Left),
        ("project", ColumnAlignment::Left),
        ("status", ColumnAlignment::Left),
        ("memory", ColumnAlignment::Right),
        ("cores", ColumnAlignment::Right),
        ("backend", ColumnAlignment::Left),
        ("created", ColumnAlignment::Left),
        ("labels", ColumnAlignment::Left),
    ]);
    for one in &all {
        let labels: Vec<String> = one.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        table.row([
            one.sandbox_id.clone().into(),
            one.project_name.clone().into(),
            one.status.name().to_owned().into(),
            one.resource_limits.memory_limit.clone().into(),
            one.resource_limits.cpu_limit.clone().into(),
            one.backend.clone().into(),
            one.created_at.clone().into(),
            labels.join(" ").into(),
        ]);
    }
    print(&table.text())?;
    Ok(MenaceExit::Done)
}

pub(super) fn exec(
    configuration: &Configuration,
    arguments: &SandboxExecArguments,
) -> anyhow::Result<MenaceExit> {
    let env: BTreeMap<&String, &String> = arguments.env.iter().map(|(name, value)| (name, value)).collect();
    let body = without_nulls(json!({
        "command": arguments.command, "workdir": arguments.workdir, "timeout": arguments.timeout, "env": env,
    }));
    let done: ExecuteResponse = with_client(configuration, async |client| {
        let id = full_id(client, &arguments.sandbox).await?;
        Ok(client.request_json("POST", &format!("/api/sandboxes/{id}/execute"), Some(body)).await?)
    })?;
    if arguments.json {
        print_json(&done)?;
    } else {
        print(&done.stdout)?;
        crate::terminal::ignore_broken_pipe(std::io::stderr().write_all(done.stderr.as_bytes()));
    }
    let code = match (done.exit_code, done.end.timed_out, done.end.oom) {
        (_, true, _) => 124,
        (_, _, true) => 137,
        (Some(code), ..) => u8::try_from(code).unwrap_or(255),
        (None, ..) => done.end.signal.and_then(|signal| u8::try_from(128 + signal).ok()).unwrap_or(255),
    };
    Ok(MenaceExit::Program(code))
}

pub(super) fn change(
    configuration: &Configuration,
    which: &SandboxIdArguments,
    change: &SandboxStateChange,
) -> anyhow::Result<MenaceExit> {
    let view: SandboxView = with_client(configuration, async |client| {
        let id = full_id(client, &which.sandbox).await?;
        Ok(client.request_json("POST", &format!("/api/sandboxes/{id}/{}", change.name()), None).await?)
    })?;
    shown(&view, which.output.json)
}

pub(super) fn fork(configuration: &Configuration, which: &SandboxIdArguments) -> anyhow::Result<MenaceExit> {
    let view: SandboxView = with_client(configuration, async |client| {
        let id = full_id(client, &which.sandbox).await?;
        Ok(client.request_json("POST", &format!("/api/sandboxes/{id}/fork"), None).await?)
    })?;
    shown(&view, which.output.json)
}

pub(super) fn snapshot(
    configuration: &Configuration,
    which: &SandboxIdArguments,
    name: &str,
) -> anyhow::Result<MenaceExit> {
    let made: Value = with_client(configuration, async |client| {
        let id = full_id(client, &which.sandbox).await?;
        let path = format!("/api/sandboxes/{id}/snapshots");
        Ok(client.request_json("POST", &path, Some(json!({ "name": name }))).await?)
    })?;
    if which.output.json {
        print_json(&made)?;
    } else {
        print(&format!("{}\n", made["snapshot_id"].as_str().unwrap_or_default()))?;
    }
    Ok(MenaceExit::Done)
}

pub(super) fn remove(configuration: &Configuration, which: &[String]) -> anyhow::Result<MenaceExit> {
    with_client(configuration, async |client| {
        for prefix in which {
            let id = full_id(client, prefix).await?;
            client.bytes("DELETE", &format!("/api/sandboxes/{id}"), None).await?;
        }
        Ok(MenaceExit::Done)
    })
}

pub(super) fn stats(configuration: &Configuration, which: &SandboxIdArguments) -> anyhow::Result<MenaceExit> {
    let usage: Value = with_client(configuration, async |client| {
        let id = full_id(client, &which.sandbox).await?;
        Ok(client.request_json("GET", &format!("/api/sandboxes/{id}/stats"), None).await?)
    })?;
    if which.output.json {
        print_json(&usage)?;
        return Ok(MenaceExit::Done);
    }
    let now = &usage["now"];
    let mebibytes = |value: &Value| {
        value.as_u64().map_or("–".to_owned(), |bytes| format!("{:.1} MiB", bytes as f64 / 1_048_576.0))
    };
    let mut table = TextTable::new(&[("resource", ColumnAlignment::Left), ("now", ColumnAlignment::Right)]);
    for (name, value) in [
        ("CPU time", now["cpu_ms"].as_f64().map_or("–".to_owned(), |time| format!("{:.2} s", time / 1e3))),
        ("memory", mebibytes(&now["memory_bytes"])),
        ("files", mebibytes(&now["disk_bytes"])),
        ("processes", now["pids"].as_u64().map_or("–".to_owned(), |count| count.to_string())),
        ("connections", usage["network"]["flows"].to_string()),
    ] {
        table.row([name.to_owned().into(), value.into()]);
    }
    print(&table.text())?;
    Ok(MenaceExit::Done)
}

/// Copies a file or directory into or out of a sandbox: one side is `SANDBOX:PATH`.
pub(super) fn copy(configuration: &Configuration, from: &str, to: &str) -> anyhow::Result<MenaceExit> {
    with_client(configuration, async |client| match (split_sandbox_path(from), split_sandbox_path(to)) {
        (None, Some((sandbox, path))) => copy_in(client, Path::new(from), sandbox, path).await,
        (Some((sandbox, path)), None) => copy_out(client, sandbox, path, Path::new(to)).await,
        _ => Err(UsageError::Copy.into()),
    })?;
    Ok(MenaceExit::Done)
}

fn split_sandbox_path(text: &str) -> Option<(&str, &str)> {
    // `./a:b` and `/a:b` are files on this machine.
    let (sandbox, path) = text.split_once(':')?;
    (!sandbox.is_empty() && !sandbox.contains(['/', '.'])).then_some((sandbox, path))
}

/// Sends an archive, so that permissions and links are preserved.
async fn copy_in(client: &DaemonClient, from: &Path, sandbox: &str, path: &str) -> anyhow::Result<()> {
    let id = full_id(client, sandbox).await?;
    let mut builder = tar::Builder::new(Vec::new());
    builder.follow_symlinks(false);
    let failed = || format!("failed to read {}", from.display());
    let is_directory = std::fs::metadata(from).with_context(failed)?.is_dir();
    let to = format!("/{}", path.trim_start_matches('/'));
    let (directory, name) = if path.ends_with('/') || path.is_empty() {
        let name = from.file_name().and_then(|name| name.to_str()).unwrap_or("copied");
        (
            if path.is_empty() { "/workspace".to_owned() } else { to.trim_end_matches('/').to_owned() },
            name.to_owned(),
        )
    } else {
        let (directory, name) = to.rsplit_once('/').unwrap_or(("", &to));
        (if directory.is_empty() { "/".to_owned() } else { directory.to_owned() }, name.to_owned())
    };
    if is_directory {
        builder.append_dir_all(&name, from).with_context(failed)?;
    } else {
        builder.append_path_with_name(from, &name).with_context(failed)?;
    }
    let archive = builder.into_inner().with_context(failed)?;
    let target = format!("/api/sandboxes/{id}/files/{}?as=tar", encoded(directory.trim_start_matches('/')));
    client.put(&target, archive).await?;
    Ok(())
}

async fn copy_out(client: &DaemonClient, sandbox: &str, path: &str, to: &Path) -> anyhow::Result<()> {
    let id = full_id(client, sandbox).await?;
    let path = path.trim_start_matches('/');
    let target = format!("/api/sandboxes/{id}/files/{}?as=tar", encoded(path));
    let archive = client.bytes("GET", &target, None).await?;
    let failed = || format!("failed to write {}", to.display());
    let first = path.rsplit('/').next().unwrap_or(path);
    let is_directory = to.is_dir();
    for entry in tar::Archive::new(&archive[..]).entries().with_context(failed)? {
        let mut entry = entry.with_context(failed)?;
        let name = entry.path().with_context(failed)?.into_owned();
        // `cp SANDBOX:a b` creates b, or b/a if the directory b exists.
        let below = name.strip_prefix(first).unwrap_or(&name);
        let is_plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        anyhow::ensure!(is_plain, "the sandbox sent a path outside of its directory: {}", name.display());
        let destination = match below.as_os_str().is_empty() {
            true if !is_directory => to.to_owned(),
            _ if is_directory => to.join(&name),
            _ => to.join(below),
        };
        entry.unpack(&destination).with_context(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_in_a_sandbox_if_it_starts_with_an_id() {
        assert_eq!(split_sandbox_path("sb-1:/a"), Some(("sb-1", "/a")));
        assert_eq!(split_sandbox_path("1f:a"), Some(("1f", "a")));
        for host_path in ["./a:b", "/a:b", "a", ":x"] {
            assert_eq!(split_sandbox_path(host_path), None, "{host_path}");
        }
    }
}
