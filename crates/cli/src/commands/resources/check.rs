//! `menace check-resources`: menace's resources on this machine, stale ones, and the last clean-up.

use anyhow::Context;
use menace_sandbox::docker::DockerInventory;
use menace_sandbox::native;
use menace_server::sandboxes::SandboxRecords;
use serde::Serialize;

use super::last::RemovedResources;
use super::{engine, last, overlays};
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, note, print, print_json};
use menace_app::calling::runtime;

/// Counts of one kind of resource.
#[derive(Debug, Serialize)]
struct ResourceCheckRow {
    resource: &'static str,
    in_use: usize,
    stale: usize,
    removed_last: Option<usize>,
}

pub(crate) fn run(configuration: &Configuration, json: bool) -> anyhow::Result<MenaceExit> {
    let data = configuration.data_directory();
    let keep =
        SandboxRecords::new(data.join("sandboxes")).ids().context("failed to read the sandbox records")?;
    let (living, dead) = native::count_owners(None)?;
    let docker = runtime()?.block_on(engine::look(configuration, &keep))?;
    let found = docker.answer().cloned().unwrap_or_default();
    let machines = overlays(configuration).count()?;
    let last = last::read(&data)?;
    let rows = rows(
        (living, dead),
        &found,
        (machines.used, machines.stray),
        last.as_ref().map(|last| &last.removed),
    );
    let stale: usize = rows.iter().map(|row| row.stale).sum();
    if json {
        let report = serde_json::json!({
            "version": 1, "resources": rows, "stale": stale, "last_cleanup_ms": last.map(|last| last.at_ms),
            "engine": if docker.is_silent() { "silent" } else if docker.answer().is_some() { "answered" } else { "none" },
        });
        print_json(&report)?;
    } else {
        print(&table(&rows))?;
    }
    if stale > 0 {
        note("remove stale resources with: menace --cleanup");
    }
    Ok(match (docker.is_silent(), stale) {
        (true, _) => MenaceExit::Environment,
        (false, 0) => MenaceExit::Done,
        (false, _) => MenaceExit::Found,
    })
}

fn rows(
    runs: (usize, usize),
    docker: &DockerInventory,
    overlays: (usize, usize),
    removed: Option<&RemovedResources>,
) -> Vec<ResourceCheckRow> {
    let DockerInventory { in_use, stale } = docker;
    [
        ("native runs", runs, removed.map(|removed| removed.runs)),
        (
            "containers",
            (in_use.containers.len(), stale.containers.len()),
            removed.map(|removed| removed.containers),
        ),
        ("volumes", (in_use.volumes.len(), stale.volumes.len()), removed.map(|removed| removed.volumes)),
        ("networks", (in_use.networks.len(), stale.networks.len()), removed.map(|removed| removed.networks)),
        ("overlays", overlays, removed.map(|removed| removed.overlays)),
    ]
    .into_iter()
    .map(|(resource, (in_use, stale), removed_last)| ResourceCheckRow {
        resource,
        in_use,
        stale,
        removed_last,
    })
    .collect()
}

fn table(rows: &[ResourceCheckRow]) -> String {
    let mut table = TextTable::new(&[
        ("resource", ColumnAlignment::Left),
        ("in use", ColumnAlignment::Right),
        ("stale", ColumnAlignment::Right),
        ("removed by the last clean-up", ColumnAlignment::Right),
    ]);
    for row in rows {
        table.row([
            row.resource.into(),
            row.in_use.to_string().into(),
            row.stale.to_string().into(),
            row.removed_last.map_or_else(|| "none yet".to_owned(), |removed| removed.to_string()).into(),
        ]);
    }
    table.text()
}
