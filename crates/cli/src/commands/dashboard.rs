//! `menace dashboard`, and the dashboard of a run or a server.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use menace_server::dashboard::{Dashboard, DashboardSources, ScannedRepository, listen};
use serde_json::{Value, json};

use crate::arguments;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::note;
use menace_app::calling::runtime;

use super::beside::BackgroundThread;
use menace_app::module_map::{build, default_options};
use menace_app::repository::{RepositoryScanOptions, ScanPurpose};

pub(super) fn run(
    configuration: &Configuration,
    arguments: &arguments::DashboardArguments,
) -> anyhow::Result<MenaceExit> {
    let mut sources = sources(configuration);
    if let Some(file) = &arguments.file {
        anyhow::ensure!(file.is_file(), "--file: no such file: {}", file.display());
        sources.history = Some(std::path::absolute(file)?);
    }
    runtime()?.block_on(async {
        let shutdown = menace_server::shutdown_signal()?;
        let (address, served) = listen(Dashboard::new(sources), arguments.port, shutdown).await?;
        note(&format!("dashboard: http://{address}"));
        served.await?;
        Ok(MenaceExit::Done)
    })
}

/// Runs the dashboard with a synergy history: the given file, or the one in the data directory.
pub(super) fn of_synergy(
    configuration: &Configuration,
    arguments: &arguments::DashboardArguments,
) -> anyhow::Result<MenaceExit> {
    let default_file = || configuration.data_directory().join("synergy_history.db");
    let file = Some(arguments.file.clone().unwrap_or_else(default_file));
    run(configuration, &arguments::DashboardArguments { file, port: arguments.port })
}

/// Sources of the dashboard in the data directory.
pub(super) fn sources(configuration: &Configuration) -> DashboardSources {
    let options = RepositoryScanOptions::of(configuration.app());
    let reading = move |root: &Path| -> Result<ScannedRepository, Box<dyn std::error::Error + Send + Sync>> {
        let scan = options.read(root, ScanPurpose::ModuleMap)?;
        let map = build(&scan, &default_options());
        let groups = map.groups.into_iter().map(|group| (group.name, group.modules)).collect();
        Ok(ScannedRepository { inventory: scan.inventory, groups })
    };
    let data = configuration.data_directory();
    DashboardSources {
        data: std::path::absolute(&data).unwrap_or(data),
        database: configuration.settings().storage.database_url.expose().to_owned(),
        audit: configuration.audit_path(),
        history: None,
        settings: settings(configuration),
        reading: Arc::new(reading),
        has_sandboxes: false,
    }
}

fn settings(configuration: &Configuration) -> Value {
    json!(configuration.resolved().rows)
}

/// Dashboard of a run; stops when dropped.
pub(super) struct RunDashboard {
    dashboard: Dashboard,
    _background: BackgroundThread,
}

/// Time for open pages to fetch the last events: they are notified within 200 ms and poll at most once a second.
const LAST_EVENTS_WAIT: Duration = Duration::from_millis(1500);

impl RunDashboard {
    /// Waits until open pages show how the run ended.
    pub(super) async fn wait_for_last_events(&self) {
        if self.dashboard.is_followed() {
            tokio::time::sleep(LAST_EVENTS_WAIT).await;
        }
    }
}

/// Starts the dashboard of a run if the settings name a port.
pub(super) fn start_run_dashboard(configuration: &Configuration) -> anyhow::Result<Option<RunDashboard>> {
    let Some(port) = configuration.settings().metrics.auto_dashboard_port else { return Ok(None) };
    let dashboard = Dashboard::new(sources(configuration));
    let shown = dashboard.clone();
    let (background, address) = BackgroundThread::listening("dashboard", move |ready| async move {
        let (address, served) = listen(shown, port, std::future::pending()).await?;
        ready.at(address);
        Ok(served.await?)
    })?;
    note(&format!("dashboard: http://{address}"));
    Ok(Some(RunDashboard { dashboard, _background: background }))
}
