//! What Prometheus asks: exporters beside a loop, and by themselves.

mod trainer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use menace_server::exporter::{DirectoryMetricsSource, Exporter, SupervisedExporter, SynergyMetricsSource};

use super::beside::BackgroundThread;
use crate::arguments::{SynergyExporterArguments, SynergyTrainerArguments};
use crate::calling::runtime;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::note;
pub(super) use trainer::record_synergy;
use trainer::{SynergyWeightTrainer, train_for_ever};

/// Where synergy is, in a data directory.
const HISTORY: &str = "synergy_history.db";

/// Exporters and the trainer that the settings ask for, beside a loop.
pub(super) fn beside_a_loop(configuration: &Configuration) -> anyhow::Result<Vec<BackgroundThread>> {
    let settings = configuration.settings();
    let mut running = Vec::new();
    if let Some(port) = settings.metrics.metrics_port {
        running.push(figures(configuration, port, "METRICS_PORT")?);
    }
    running.extend(synergy_services(configuration)?);
    Ok(running)
}

/// The exporter and the trainer of synergy, as far as they are asked for.
fn synergy_services(configuration: &Configuration) -> anyhow::Result<Vec<BackgroundThread>> {
    let settings = configuration.settings();
    let history = configuration.data_directory().join(HISTORY);
    let mut running = Vec::new();
    if settings.metrics.export_synergy_metrics {
        let port = settings.metrics.synergy_metrics_port;
        running.push(synergy(configuration, history.clone(), port, Duration::ZERO)?);
    }
    if settings.synergy.auto_train_synergy {
        let weights = configuration.data_directory().join("synergy_weights.json");
        let trainer = SynergyWeightTrainer { history, weights };
        let interval = settings.synergy.auto_train_interval;
        running.push(BackgroundThread::working("trainer", move || train_for_ever(trainer, interval))?);
    }
    Ok(running)
}

/// What there is in the data directory, at a port.
pub(super) fn figures(
    configuration: &Configuration,
    port: u16,
    variable: &'static str,
) -> anyhow::Result<BackgroundThread> {
    let database = configuration.settings().storage.database_url.expose().to_owned();
    let figures = Arc::new(DirectoryMetricsSource::new(configuration.data_directory(), database));
    let (beside, address) = BackgroundThread::listening("exporter", move |ready| async move {
        let exporter = Exporter::listen(figures, port, variable).await?;
        ready.at(exporter.address()?);
        Ok(exporter.serve().await?)
    })?;
    note(&format!("metrics: http://{address}/metrics"));
    Ok(beside)
}

fn synergy(
    configuration: &Configuration,
    history: PathBuf,
    port: u16,
    age: Duration,
) -> anyhow::Result<BackgroundThread> {
    let every = configuration.settings().metrics.synergy_exporter_check_interval;
    let restarts = Arc::new(AtomicU64::new(0));
    let figures = Arc::new(SynergyMetricsSource::new(history, age, Arc::clone(&restarts)));
    let (beside, address) = BackgroundThread::listening("synergy exporter", move |ready| async move {
        let watched =
            SupervisedExporter::start(figures, (port, "SYNERGY_METRICS_PORT"), every, restarts).await?;
        ready.at(watched.address());
        watched.watch().await;
        Ok(())
    })?;
    note(&format!("Synergy metrics exporter running on port {}", address.port()));
    Ok(beside)
}

/// `menace synergy-exporter`.
pub(super) fn export(
    configuration: &Configuration,
    arguments: &SynergyExporterArguments,
) -> anyhow::Result<MenaceExit> {
    let usual = || configuration.data_directory().join(HISTORY);
    let history = arguments.history_file.clone().unwrap_or_else(usual);
    let port = arguments.port.unwrap_or(configuration.settings().metrics.synergy_metrics_port);
    let running = synergy(configuration, history, port, arguments.interval.unwrap_or_default())?;
    until_told(vec![running])
}

/// `menace synergy-trainer`.
pub(super) fn train(
    configuration: &Configuration,
    arguments: &SynergyTrainerArguments,
) -> anyhow::Result<MenaceExit> {
    let data = configuration.data_directory();
    let trainer = SynergyWeightTrainer {
        history: arguments.history_file.clone().unwrap_or_else(|| data.join(HISTORY)),
        weights: arguments.weights_file.clone().unwrap_or_else(|| data.join("synergy_weights.json")),
    };
    if arguments.run_once {
        runtime()?.block_on(trainer.train())?;
        return Ok(MenaceExit::Done);
    }
    let interval = arguments.interval.unwrap_or(configuration.settings().synergy.auto_train_interval);
    until_told(vec![BackgroundThread::working("trainer", move || train_for_ever(trainer, interval))?])
}

/// `menace synergy-tools`: what the settings ask for, without a loop.
pub(super) fn tools(configuration: &Configuration) -> anyhow::Result<MenaceExit> {
    let running = synergy_services(configuration)?;
    if running.is_empty() {
        let problem = "nothing is to be done\nhint: EXPORT_SYNERGY_METRICS=1 starts the exporter, AUTO_TRAIN_SYNERGY=1 the trainer";
        return Err(super::UsageError::Tracking(problem.into()).into());
    }
    until_told(running)
}

fn until_told(running: Vec<BackgroundThread>) -> anyhow::Result<MenaceExit> {
    runtime()?.block_on(async {
        menace_server::shutdown_signal()?.await;
        anyhow::Ok(())
    })?;
    drop(running);
    Ok(MenaceExit::Done)
}
