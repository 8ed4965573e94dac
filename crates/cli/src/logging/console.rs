//! The log on stderr, as plain text or JSON.

use std::fmt;
use std::io::IsTerminal;

use anyhow::Context;
use menace_model::settings::LoggingSettings;
use owo_colors::OwoColorize;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

/// Layer that writes events to stderr.
pub(super) fn layer<S>(settings: &LoggingSettings) -> anyhow::Result<impl Layer<S> + use<S>>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let level = settings.console_level().word();
    let filter = EnvFilter::try_new(level).context("failed to parse the log level")?;
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let boxed: Box<dyn Layer<S> + Send + Sync> = if settings.json_logs {
        layer.json().flatten_event(true).boxed()
    } else {
        let is_colourful = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        layer.with_ansi(is_colourful).event_format(PlainLogFormat).boxed()
    };
    Ok(boxed.with_filter(filter))
}

/// Plain lines such as `warning: …`; info events have no prefix.
struct PlainLogFormat;

impl<S, N> FormatEvent<S, N> for PlainLogFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = *event.metadata().level();
        let word = match level {
            Level::ERROR => "error: ",
            Level::WARN => "warning: ",
            Level::INFO => "",
            Level::DEBUG => "debug: ",
            Level::TRACE => "trace: ",
        };
        match (writer.has_ansi_escapes(), level) {
            (true, Level::ERROR) => write!(writer, "{}", word.red())?,
            (true, Level::WARN) => write!(writer, "{}", word.yellow())?,
            (true, _) => write!(writer, "{}", word.dimmed())?,
            (false, _) => writer.write_str(word)?,
        }
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}
