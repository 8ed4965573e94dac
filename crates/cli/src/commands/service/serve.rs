//! `menace serve`: sandboxes for other programs, over HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use menace_server::client::DaemonClient;
use menace_server::dashboard::{Dashboard, DashboardSources};
use menace_server::gateway::{Gateway, GatewayOptions, TlsFiles};
use menace_store::audit::AuditTrail;
use serde_json::Value;

use super::{keeper, keys};
use crate::arguments::{SandboxDaemonArguments, ServeArguments};
use crate::commands::dashboard::sources;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{count, note};
use menace_app::calling::runtime;

/// How often keys are read again, and whoever holds sandboxes is told that somebody is here.
const LOOK: Duration = Duration::from_secs(1);
/// How many requests at once a caller may make after a while of rest, for each that it may make in a second.
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
    let keeper = keeper(configuration, &options)?;
    let client = DaemonClient::new(keeper.clone());
    // Whether sandboxes can be made here is said before anybody asks for one.
    let ready: Value = client.request_json("GET", "/readyz", None).await.map_err(anyhow::Error::from)?;
    let data = configuration.data_directory();
    let audit = AuditTrail::open(&configuration.audit_path())?;
    let files = arguments.tls_cert.clone().zip(arguments.tls_key.clone());
    let front = GatewayOptions {
        address: SocketAddr::new(arguments.address, arguments.port),
        tls: files.map(|(certificate, key)| TlsFiles { certificate, key }),
        rate: (arguments.rate, arguments.rate * BURST),
        needs_key: arguments.require_key,
        patience: arguments.patience,
    };
    let scheme = if front.tls.is_some() { "https" } else { "http" };
    let shown = Dashboard::new(DashboardSources { has_sandboxes: true, ..sources(configuration) });
    let front = Gateway::listen(front, keys::read(configuration)?, keeper, audit, shown).await?;
    note(&format!("menace serves sandboxes at {scheme}://{}", front.address()?));
    note(&format!("  backend {}, data {}", ready["backend"].as_str().unwrap_or("?"), data.display()));
    note(if front.needs_key() {
        "  callers need a key: Authorization: Bearer mnc_…"
    } else {
        "  no key is needed, because only this machine can ask"
    });
    note(&format!("  dashboard {scheme}://{}", front.address()?));
    note(&format!("  try {scheme}://{}/api/docs", front.address()?));
    match ready["sandboxes"].as_u64() {
        Some(0) | None => {}
        Some(live) => {
            note(&format!("  {} from before", count(usize::try_from(live).unwrap_or(0), "sandbox")));
        }
    }
    let set_keys = front.keys();
    let told = menace_server::shutdown_signal()?;
    tokio::select! {
        served = front.serve(told) => served?,
        () = look_after(configuration, &client, set_keys) => {}
    }
    end(&client, arguments.ephemeral).await?;
    Ok(MenaceExit::Done)
}

async fn look_after(
    configuration: &Configuration,
    client: &DaemonClient,
    set_keys: impl Fn(Vec<menace_server::gateway::ApiKey>),
) {
    loop {
        tokio::time::sleep(LOOK).await;
        match keys::read(configuration) {
            Ok(keys) => set_keys(keys),
            Err(error) => tracing::error!("keys stay as they are: {error:#}"),
        }
        if let Err(error) = client.bytes("GET", "/healthz", None).await {
            tracing::warn!("whoever holds sandboxes does not answer: {error}");
        }
    }
}

/// Sandboxes live on, unless that is not wanted.
async fn end(client: &DaemonClient, is_ephemeral: bool) -> anyhow::Result<()> {
    if is_ephemeral {
        client.bytes("POST", "/internal/end", None).await?;
        note("the server has ended, and all sandboxes with it");
        return Ok(());
    }
    let ready: Value = client.request_json("GET", "/readyz", None).await?;
    match ready["sandboxes"].as_u64().unwrap_or(0) {
        0 => note("the server has ended"),
        live => note(&format!(
            "the server has ended; {} live on for the next one, or until menace --cleanup",
            count(usize::try_from(live).unwrap_or(0), "sandbox").replace("sandboxs", "sandboxes")
        )),
    }
    Ok(())
}
