//! `menace --cleanup` and `menace --purge-stale`: remove stale resources of killed runs.

use std::collections::BTreeSet;

use anyhow::Context;
use menace_sandbox::native;
use menace_sandbox::overlays::OverlayPurgeScope;
use menace_server::sandboxes::SandboxRecords;
use serde_json::json;

use super::last::{self, RemovedResources};
use super::{engine, overlays};
use crate::commands::service::client;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{count, note, print_json};
use menace_app::calling::runtime;

/// Extent of a clean-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CleanUpScope {
    /// Everything that does not belong to a running server.
    All,
    /// Only resources that no later run or server can use.
    Stale,
}

pub(crate) fn run(
    configuration: &Configuration,
    scope: CleanUpScope,
    json: bool,
) -> anyhow::Result<MenaceExit> {
    let data = configuration.data_directory();
    let runtime = runtime()?;
    // Without a data directory there is no sandbox daemon.
    let kept = if scope == CleanUpScope::All && data.is_dir() {
        runtime.block_on(client(configuration)?.shut_down_if_unused())?
    } else {
        None
    };
    let records = SandboxRecords::new(data.join("sandboxes"));
    let keep = if scope == CleanUpScope::Stale || kept == Some(false) {
        // They belong to a running server, or the next one adopts them.
        records.ids().context("failed to read the sandbox records")?
    } else {
        BTreeSet::new()
    };
    let native = native::clean_up(None)?;
    let docker = runtime.block_on(engine::remove(configuration, &keep))?;
    let which = if scope == CleanUpScope::All { OverlayPurgeScope::All } else { OverlayPurgeScope::Old };
    let purged = overlays(configuration).purge(which)?;
    let containers = docker.answer().cloned().unwrap_or_default();
    let removed = RemovedResources {
        runs: native.owners,
        containers: containers.containers.len(),
        volumes: containers.volumes.len(),
        networks: containers.networks.len(),
        overlays: purged.removed.len(),
    };
    last::write(&data, &removed)?;
    if json {
        let mut report = serde_json::to_value(&native)?;
        report["sandboxes_ended"] = (kept == Some(true)).into();
        report["docker"] = serde_json::to_value(&docker)?;
        report["overlays"] = serde_json::to_value(&purged)?;
        report["removed"] = json!(removed);
        print_json(&report)?;
    }
    match kept {
        None => {}
        Some(true) => note("destroyed the sandboxes that a server left behind"),
        Some(false) => note("kept the sandboxes of a running server; stop the server first to remove them"),
    }
    let failed = purged.failed.iter().map(|(path, problem)| format!("{}: {problem}", path.display()));
    let problems: Vec<String> =
        native.problems.iter().chain(&containers.problems).cloned().chain(failed).collect();
    for problem in &problems {
        tracing::warn!("{problem}");
    }
    note_removed(&removed, &native, kept.is_some());
    let is_whole = problems.is_empty() && !docker.is_silent();
    Ok(if is_whole { MenaceExit::Done } else { MenaceExit::Environment })
}

fn note_removed(removed: &RemovedResources, native: &native::NativeCleanUpReport, has_noted: bool) {
    if *removed == RemovedResources::default() {
        if !has_noted {
            note("nothing to remove");
        }
        return;
    }
    if removed.runs > 0 {
        note(&format!(
            "removed resources of {}: {}, {}",
            count(removed.runs, "dead run"),
            count(native.processes, "launcher"),
            count(native.cgroups, "control group")
        ));
    }
    let RemovedResources { containers, volumes, networks, overlays, .. } = *removed;
    if containers + volumes + networks > 0 {
        note(&format!(
            "removed {}, {}, {} from Docker",
            count(containers, "container"),
            count(volumes, "volume"),
            count(networks, "network")
        ));
    }
    if overlays > 0 {
        note(&format!("removed {} of virtual machines", count(overlays, "overlay")));
    }
}
