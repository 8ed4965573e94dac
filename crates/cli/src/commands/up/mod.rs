//! `menace up`: `auto` and its services, each in its own process and restarted when it fails.

mod patience;
mod rotating;
mod service;

use anyhow::Context;
use menace_server::alerts::AlertDispatcher;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub(crate) use service::SUPERVISOR;
use service::{ServiceEnd, SupervisedService};

use crate::arguments::UpArguments;
use crate::commands::UsageError;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::note;
use menace_app::calling::runtime;
use menace_app::improve::unfinished;

pub(super) fn run(configuration: &Configuration, arguments: &UpArguments) -> anyhow::Result<MenaceExit> {
    let data = configuration.data_directory();
    let logs = data.join("logs");
    // A second supervisor would start every service twice.
    std::fs::create_dir_all(&data).with_context(|| format!("failed to create {}", data.display()))?;
    let lock = std::fs::File::create(data.join("up.lock")).context("failed to create up.lock")?;
    if lock.try_lock().is_err() {
        return Err(UsageError::AlreadyUp(data).into());
    }
    let alerts = dispatcher(configuration);
    runtime()?.block_on(async {
        let (stop, end) = watch::channel(false);
        let mut running = JoinSet::new();
        for service in services(configuration, arguments).await? {
            let (logs, alerts, end) = (logs.clone(), alerts.clone(), end.clone());
            running.spawn(async move { service.supervise(&logs, &alerts, end).await });
        }
        if !arguments.no_serve && arguments.port != 0 {
            note(&format!("API and dashboard: http://127.0.0.1:{}", arguments.port));
        }
        note(&format!("logs: {}", logs.display()));
        let shutdown = menace_server::shutdown_signal()?;
        tokio::pin!(shutdown);
        let mut exit = MenaceExit::Done;
        loop {
            tokio::select! {
                () = &mut shutdown, if !*stop.borrow() => {
                    note("stopping; verifications in progress are finished first");
                    stop.send_replace(true);
                }
                ended = running.join_next() => match ended {
                    None => return Ok(exit),
                    Some(ended) => match ended?? {
                        ServiceEnd::Done | ServiceEnd::Told => {}
                        ServiceEnd::Wrong => {
                            exit = MenaceExit::Usage;
                            stop.send_replace(true);
                        }
                    },
                },
            }
        }
    })
}

pub(super) fn dispatcher(configuration: &Configuration) -> AlertDispatcher {
    let settings = &configuration.settings().logging;
    AlertDispatcher {
        webhook: settings.alert_webhook_url.as_ref().map(|address| address.expose().to_owned()),
        command: settings.alert_command.clone(),
    }
}

/// Services that the arguments and settings enable.
async fn services(
    configuration: &Configuration,
    arguments: &UpArguments,
) -> anyhow::Result<Vec<SupervisedService>> {
    let settings = configuration.settings();
    let data = configuration.data_directory().display().to_string();
    let with_data = |words: &[&str]| -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).chain(["--data-dir".to_owned(), data.clone()]).collect()
    };
    let path = configuration.repository(arguments.repository.as_deref());
    let repository = path.display().to_string();
    // The supervisor starts these as services, so `auto` must not start them too.
    let disabled = vec![("EXPORT_SYNERGY_METRICS", "0"), ("AUTO_TRAIN_SYNERGY", "0")];
    let mut services = Vec::new();
    if !arguments.no_serve {
        services.push(SupervisedService {
            name: "serve",
            arguments: with_data(&["serve", "--port", &arguments.port.to_string()]),
            again: None,
            variables: Vec::new(),
            may_end: false,
        });
    }
    if !arguments.no_loop {
        // A run that was interrupted, such as by a reboot, is resumed.
        let unfinished = unfinished(configuration.app(), &path).await?.map(|id| id.to_string());
        services.push(SupervisedService {
            name: "loop",
            arguments: match &unfinished {
                Some(id) => with_data(&["auto", "--recover", id]),
                None => with_data(&["auto", &repository]),
            },
            again: Some(with_data(&["auto", "--recover"])),
            variables: disabled,
            may_end: true,
        });
    }
    if settings.self_test.self_test_interval.is_some() {
        services.push(SupervisedService {
            name: "self-test",
            arguments: with_data(&["self-test", "--repo", &repository]),
            again: None,
            variables: Vec::new(),
            may_end: false,
        });
    }
    if settings.metrics.export_synergy_metrics || settings.synergy.auto_train_synergy {
        services.push(SupervisedService {
            name: "synergy",
            arguments: with_data(&["synergy-tools"]),
            again: None,
            variables: Vec::new(),
            may_end: false,
        });
    }
    Ok(services)
}
