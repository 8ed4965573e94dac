//! Logs on stderr, for people or as JSON.

use std::io::IsTerminal;

use anyhow::Context;
use menace_model::settings::LoggingSettings;
use tracing_subscriber::EnvFilter;

/// Starts logging; called once.
pub(crate) fn start(settings: &LoggingSettings) -> anyhow::Result<()> {
    let level = settings.console_level().word();
    let filter = EnvFilter::try_new(level).context("log level is one that tracing knows")?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if settings.json_logs {
        builder.json().flatten_event(true).init();
    } else {
        let is_colourful = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        builder.without_time().with_target(false).with_ansi(is_colourful).init();
    }
    Ok(())
}
