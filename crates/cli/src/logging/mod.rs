//! Logging: on stderr as text or JSON, optionally in the audit trail, and as traces for a collector.

mod central;
mod console;
mod traces;

use menace_store::audit::AuditTrail;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::configuration::Configuration;
use central::CentralLogLayer;
pub(crate) use traces::TracePipeline;

/// Starts logging; called once. Services (`is_service`) also log to the audit trail, unless the settings disable it.
/// The returned pipeline sends traces to a collector until it is dropped.
pub(crate) fn start(
    configuration: &Configuration,
    is_service: bool,
) -> anyhow::Result<Option<TracePipeline>> {
    let settings = &configuration.settings().logging;
    let is_kept = settings.central_logging.unwrap_or(is_service);
    let central = if is_kept {
        Some(CentralLogLayer::new(AuditTrail::open(&configuration.audit_path())?))
    } else {
        None
    };
    let traces = settings.otel_endpoint.as_deref().map(TracePipeline::to).transpose()?;
    tracing_subscriber::registry()
        .with(console::layer(settings)?)
        .with(central)
        .with(traces.as_ref().map(TracePipeline::layer))
        .init();
    Ok(traces)
}
