//! The sandbox service: the gateway, the sandbox daemon, the MCP server, and API keys.

mod keep;
mod keys;
mod mcp;
mod serve;

pub(super) use keep::run as keep;
pub(super) use keys::run as keys;
pub(super) use mcp::run as mcp;
pub(super) use serve::run as serve;

use std::ffi::OsString;

use anyhow::Context;
use menace_server::client::DaemonClient;
use menace_server::daemon::{DaemonConnector, DaemonEndpoint};

use crate::arguments::{BackendChoice, SandboxDaemonArguments};
use crate::configuration::Configuration;

/// Connector to the sandbox daemon of the data directory, which is started with these options if it does not run.
pub(in crate::commands) fn daemon_connector(
    configuration: &Configuration,
    options: &SandboxDaemonArguments,
) -> anyhow::Result<DaemonConnector> {
    let data = configuration.data_directory();
    std::fs::create_dir_all(&data).with_context(|| format!("failed to create {}", data.display()))?;
    let endpoint = DaemonEndpoint::of(&data).with_context(|| {
        format!("failed to find the endpoint of the sandbox daemon for {}", data.display())
    })?;
    let data = std::path::absolute(&data)?;
    let executable = std::env::current_exe().context("failed to find the menace executable")?;
    let mut command: Vec<OsString> =
        vec![executable.into(), KEEP.into(), "--data-dir".into(), (&data).into()];
    let backend = match options.backend {
        BackendChoice::Native => "native",
        BackendChoice::Docker => "docker",
    };
    command.extend(["--backend".into(), backend.into()]);
    if let Some(most) = options.max_sandboxes {
        command.extend(["--max-sandboxes".into(), most.to_string().into()]);
    }
    for (flag, time) in [("--max-lifetime", options.max_lifetime), ("--idle-timeout", options.idle_timeout)] {
        if let Some(time) = time {
            command.extend([flag.into(), format!("{}ms", time.as_millis()).into()]);
        }
    }
    Ok(DaemonConnector::new(endpoint, command, data.join("keeper.log")))
}

/// The hidden command of the sandbox daemon.
const KEEP: &str = "__keep";

/// Client of the sandbox daemon of the data directory.
pub(in crate::commands) fn client(configuration: &Configuration) -> anyhow::Result<DaemonClient> {
    let defaults = SandboxDaemonArguments {
        backend: configuration.settings().docker.backend.into(),
        max_sandboxes: None,
        max_lifetime: None,
        idle_timeout: None,
    };
    Ok(DaemonClient::new(daemon_connector(configuration, &defaults)?))
}
