//! `menace serve`: sandboxes for other programs, over HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use menace_server::client::DaemonClient;
use menace_server::dashboard::{Dashboard, DashboardSources};
use menace_server::gateway::{Gateway, GatewayOptions, TlsFiles};
use menace_store::audit::AuditTrail;
use serde_json::Value;

use super::{daemon_connector, keys};
use crate::arguments::{SandboxDaemonArguments, ServeArguments};
use crate::commands::dashboard::sources;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{count, note};
use menace_app::calling::runtime;

/// Interval at which keys are read again and the sandbox daemon learns that the server still runs.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// Burst of requests that an idle caller may make, as a multiple of its rate limit per second.
const BURST: f64 = 2.0;

pub(in crate::commands) fn run(
    configuration: &Configuration,
    arguments: &ServeArguments,
) -> anyhow::Result<MenaceExit> {
    runtime()?.block_on(serve(configuration, arguments))
}

async fn serve(configuration: &Configuration, arguments: &ServeArguments) -> anyhow::Result<MenaceExit> {
    let options = SandboxDaemonArguments {
        backend: arguments.backend.unwrap_or(configuration.settings().docker.backend.into()),
        max_sandboxes: arguments.max_sandboxes,
        max_lifetime: arguments.max_lifetime,
        idle_timeout: arguments.idle_timeout,
    };
    let daemon = daemon_connector(configuration, &options)?;
    let client = DaemonClient::new(daemon.clone());
    // Fails before the first request if sandboxes cannot be created here.
    let ready: Value = client.request_json("GET", "/readyz", None).await.map_err(anyhow::Error::from)?;
    let data = configuration.data_directory();
    let audit = AuditTrail::open(&configuration.audit_path())?;
    let files = arguments.tls_cert.clone().zip(arguments.tls_key.clone());
    let options = GatewayOptions {
        address: SocketAddr::new(arguments.address, arguments.port),
        tls: files.map(|(certificate, key)| TlsFiles { certificate, key }),
        rate: (arguments.rate, arguments.rate * BURST),
        needs_key: arguments.require_key,
        patience: arguments.patience,
    };
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let dashboard = Dashboard::new(DashboardSources { has_sandboxes: true, ..sources(configuration) });
    let gateway = Gateway::listen(options, keys::read(configuration)?, daemon, audit, dashboard).await?;
    note(&format!("menace serves sandboxes at {scheme}://{}", gateway.address()?));
    note(&format!("  backend {}, data {}", ready["backend"].as_str().unwrap_or("?"), data.display()));
    note(if gateway.needs_key() {
        "  callers need a key: Authorization: Bearer mnc_…"
    } else {
        "  no key is needed, because only this machine can connect"
    });
    note(&format!("  dashboard {scheme}://{}", gateway.address()?));
    note(&format!("  API docs {scheme}://{}/api/docs", gateway.address()?));
    match ready["sandboxes"].as_u64() {
        Some(0) | None => {}
        Some(live) => {
            note(&format!("  {} from an earlier server", sandboxes(live)));
        }
    }
    let set_keys = gateway.keys();
    let shutdown = menace_server::shutdown_signal()?;
    tokio::select! {
        served = gateway.serve(shutdown) => served?,
        () = refresh(configuration, &client, set_keys) => {}
    }
    end(&client, arguments.ephemeral).await?;
    Ok(MenaceExit::Done)
}

async fn refresh(
    configuration: &Configuration,
    client: &DaemonClient,
    set_keys: impl Fn(Vec<menace_server::gateway::ApiKey>),
) {
    loop {
        tokio::time::sleep(REFRESH_INTERVAL).await;
        match keys::read(configuration) {
            Ok(keys) => set_keys(keys),
            Err(error) => tracing::error!("failed to read API keys, keeping the old ones: {error:#}"),
        }
        if let Err(error) = client.bytes("GET", "/healthz", None).await {
            tracing::warn!("the sandbox daemon does not answer: {error}");
        }
    }
}

/// Reports the end of the server. Sandboxes stay, unless the server is ephemeral.
async fn end(client: &DaemonClient, is_ephemeral: bool) -> anyhow::Result<()> {
    if is_ephemeral {
        client.bytes("POST", "/internal/end", None).await?;
        note("the server has stopped and destroyed all sandboxes");
        return Ok(());
    }
    let ready: Value = client.request_json("GET", "/readyz", None).await?;
    match ready["sandboxes"].as_u64().unwrap_or(0) {
        0 => note("the server has stopped"),
        live => note(&format!(
            "the server has stopped; {} stay for the next one (remove them with: menace --cleanup)",
            sandboxes(live)
        )),
    }
    Ok(())
}

fn sandboxes(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(0), "sandbox")
}
