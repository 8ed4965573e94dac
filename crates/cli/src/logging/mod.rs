//! Conversation: on stderr, for people or as JSON, and in the audit trail where that is wanted.

mod central;
mod console;

use menace_store::audit::AuditTrail;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::configuration::Configuration;
use central::Central;

/// Starts logging; called once. `is_service` is for what runs for long and unattended, whose words are kept unless somebody does
/// not want that.
pub(crate) fn start(configuration: &Configuration, is_service: bool) -> anyhow::Result<()> {
    let settings = &configuration.settings().logging;
    let is_kept = settings.central_logging.unwrap_or(is_service);
    let central =
        if is_kept { Some(Central::new(AuditTrail::open(&configuration.audit_path())?)) } else { None };
    tracing_subscriber::registry().with(console::layer(settings)?).with(central).init();
    Ok(())
}
