//! `menace dashboard`, and the dashboard beside a loop or a server.

use std::path::Path;
use std::sync::Arc;

use menace_server::dashboard::{Dashboard, Repository, Sources, listen};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::arguments;
use crate::calling::runtime;
use crate::configuration::Configuration;
use crate::exit::Exit;
use crate::terminal::note;

use super::map::{build, default_options};
use super::reading::{Purpose, ReadingOptions};

pub(super) fn run(configuration: &Configuration, arguments: &arguments::Dashboard) -> anyhow::Result<Exit> {
    let mut sources = sources(configuration);
    if let Some(file) = &arguments.file {
        anyhow::ensure!(file.is_file(), "--file: there is no file {}", file.display());
        sources.history = Some(std::path::absolute(file)?);
    }
    runtime()?.block_on(async {
        let told = menace_server::told_to_end()?;
        let (address, served) = listen(Dashboard::new(sources), arguments.port, told).await?;
        note(&format!("dashboard: http://{address}"));
        served.await?;
        Ok(Exit::Done)
    })
}

/// What is shown of the data directory.
pub(super) fn sources(configuration: &Configuration) -> Sources {
    let options = ReadingOptions::of(configuration);
    let reading = move |root: &Path| -> Result<Repository, String> {
        let scan = options.read(root, Purpose::ModuleMap).map_err(|error| format!("{error:#}"))?;
        let map = build(&scan, &default_options());
        let groups = map.groups.into_iter().map(|group| (group.name, group.modules)).collect();
        Ok(Repository { inventory: scan.inventory, groups })
    };
    let data = configuration.data_directory();
    Sources {
        data: std::path::absolute(&data).unwrap_or(data),
        database: configuration.settings().storage.database_url.expose().to_owned(),
        history: None,
        settings: settings(configuration),
        reading: Arc::new(reading),
        has_sandboxes: false,
    }
}

fn settings(configuration: &Configuration) -> Value {
    json!(configuration.resolved().rows)
}

/// A dashboard beside a loop, until it is dropped.
pub(super) struct Beside {
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Beside {
    /// Starts one, if the settings have a port. It has a thread of its own, so that neither waits for the other.
    pub(super) fn start(configuration: &Configuration) -> anyhow::Result<Option<Self>> {
        let Some(port) = configuration.settings().metrics.auto_dashboard_port else { return Ok(None) };
        let dashboard = Dashboard::new(sources(configuration));
        let (end, ended) = oneshot::channel::<()>();
        let (ready, listening) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("dashboard".into()).spawn(move || {
            if let Err(error) = serve(dashboard, port, ended, &ready) {
                // Whoever waits for the address is told; after that nobody is, and the loop goes on.
                if let Err(unheard) = ready.send(Err(error)) {
                    tracing::error!(
                        "{:#}",
                        unheard.0.err().unwrap_or_else(|| anyhow::anyhow!("the dashboard ended"))
                    );
                }
            }
        })?;
        let address = listening.recv()??;
        note(&format!("dashboard: http://{address}"));
        Ok(Some(Self { end: Some(end), thread: Some(thread) }))
    }
}

type Ready = std::sync::mpsc::Sender<anyhow::Result<std::net::SocketAddr>>;

fn serve(dashboard: Dashboard, port: u16, ended: oneshot::Receiver<()>, ready: &Ready) -> anyhow::Result<()> {
    runtime()?.block_on(async {
        let end = async { drop(ended.await) };
        let (address, served) = listen(dashboard, port, end).await?;
        // Who started it waits for this, or is gone.
        let _ = ready.send(Ok(address));
        served.await
    })?;
    Ok(())
}

impl Drop for Beside {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
