//! Prometheus exporters and the synergy trainer, during a run and as commands.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use menace_app::calling::runtime;
use menace_app::synergy::{HISTORY_FILE, SynergyWeightTrainer};
use menace_server::exporter::{DirectoryMetricsSource, Exporter, SupervisedExporter, SynergyMetricsSource};

use super::beside::BackgroundThread;
use crate::arguments::{SynergyExporterArguments, SynergyTrainerArguments};
use crate::commands::UsageError;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::note;

/// Starts the exporters and the trainer that the settings enable, for the duration of a run.
pub(super) fn start_run_exporters(configuration: &Configuration) -> anyhow::Result<Vec<BackgroundThread>> {
    let settings = configuration.settings();
    let mut running = Vec::new();
    if let Some(port) = settings.metrics.metrics_port {
        running.push(export_directory(configuration, port, "METRICS_PORT")?);
    }
    running.extend(synergy_services(configuration)?);
    Ok(running)
}

/// Starts the exporter and the trainer of synergy that the settings enable.
fn synergy_services(configuration: &Configuration) -> anyhow::Result<Vec<BackgroundThread>> {
    let settings = configuration.settings();
    let history = configuration.data_directory().join(HISTORY_FILE);
    let mut running = Vec::new();
    if settings.metrics.export_synergy_metrics {
        let port = settings.metrics.synergy_metrics_port;
        running.push(synergy(configuration, history.clone(), port, Duration::ZERO)?);
    }
    if settings.synergy.auto_train_synergy {
        let weights = configuration.data_directory().join("synergy_weights.json");
        let trainer = SynergyWeightTrainer { history, weights, context: configuration.app().clone() };
        let interval = settings.synergy.auto_train_interval;
        running.push(start_trainer(trainer, interval)?);
    }
    Ok(running)
}

/// Starts an exporter of the data directory.
pub(super) fn export_directory(
    configuration: &Configuration,
    port: u16,
    variable: &'static str,
) -> anyhow::Result<BackgroundThread> {
    let database = configuration.settings().storage.database_url.expose().to_owned();
    let source = Arc::new(DirectoryMetricsSource::new(configuration.data_directory(), database));
    let (background, address) = BackgroundThread::listening("exporter", move |ready| async move {
        let exporter = Exporter::listen(source, port, variable).await?;
        ready.at(exporter.address()?);
        Ok(exporter.serve().await?)
    })?;
    note(&format!("metrics: http://{address}/metrics"));
    Ok(background)
}

fn synergy(
    configuration: &Configuration,
    history: PathBuf,
    port: u16,
    age: Duration,
) -> anyhow::Result<BackgroundThread> {
    let every = configuration.settings().metrics.synergy_exporter_check_interval;
    let restarts = Arc::new(AtomicU64::new(0));
    let source = Arc::new(SynergyMetricsSource::new(history, age, Arc::clone(&restarts)));
    let (background, address) = BackgroundThread::listening("synergy exporter", move |ready| async move {
        let watched =
            SupervisedExporter::start(source, (port, "SYNERGY_METRICS_PORT"), every, restarts).await?;
        ready.at(watched.address());
        watched.watch().await;
        Ok(())
    })?;
    note(&format!("Synergy metrics exporter running on port {}", address.port()));
    Ok(background)
}

/// `menace synergy-exporter`.
pub(super) fn export(
    configuration: &Configuration,
    arguments: &SynergyExporterArguments,
) -> anyhow::Result<MenaceExit> {
    let default_file = || configuration.data_directory().join(HISTORY_FILE);
    let history = arguments.history_file.clone().unwrap_or_else(default_file);
    let port = arguments.port.unwrap_or(configuration.settings().metrics.synergy_metrics_port);
    let running = synergy(configuration, history, port, arguments.interval.unwrap_or_default())?;
    wait_for_shutdown(vec![running])
}

/// `menace synergy-trainer`.
pub(super) fn train(
    configuration: &Configuration,
    arguments: &SynergyTrainerArguments,
) -> anyhow::Result<MenaceExit> {
    let data = configuration.data_directory();
    let trainer = SynergyWeightTrainer {
        history: arguments.history_file.clone().unwrap_or_else(|| data.join(HISTORY_FILE)),
        weights: arguments.weights_file.clone().unwrap_or_else(|| data.join("synergy_weights.json")),
        context: configuration.app().clone(),
    };
    if arguments.run_once {
        runtime()?.block_on(trainer.train())?;
        return Ok(MenaceExit::Done);
    }
    let interval = arguments.interval.unwrap_or(configuration.settings().synergy.auto_train_interval);
    wait_for_shutdown(vec![start_trainer(trainer, interval)?])
}

/// `menace admin synergy-tools`: the exporter and the trainer without a run.
pub(super) fn tools(configuration: &Configuration) -> anyhow::Result<MenaceExit> {
    let running = synergy_services(configuration)?;
    if running.is_empty() {
        return Err(UsageError::NoSynergyTool.into());
    }
    wait_for_shutdown(running)
}

fn start_trainer(trainer: SynergyWeightTrainer, interval: Duration) -> anyhow::Result<BackgroundThread> {
    BackgroundThread::working("trainer", move || async move {
        trainer.train_repeatedly(interval).await;
        Ok(())
    })
}

fn wait_for_shutdown(running: Vec<BackgroundThread>) -> anyhow::Result<MenaceExit> {
    runtime()?.block_on(async {
        menace_server::shutdown_signal()?.await;
        anyhow::Ok(())
    })?;
    drop(running);
    Ok(MenaceExit::Done)
}
