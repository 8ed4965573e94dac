//! A copy of the log in the audit trail, so that messages of services can be audited later.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};

use menace_store::audit::AuditTrail;
use serde::Serialize;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use menace_app::calling::now_ms;

/// Layer that appends events to the audit trail.
pub(super) struct CentralLogLayer {
    trail: AuditTrail,
    has_failed: AtomicBool,
}

impl CentralLogLayer {
    pub(super) fn new(trail: AuditTrail) -> Self {
        Self { trail, has_failed: AtomicBool::new(false) }
    }
}

/// One event.
#[derive(Serialize)]
struct CentralLogLine<'a> {
    at: String,
    level: &'a str,
    service: &'a str,
    message: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fields: BTreeMap<&'static str, Value>,
}

impl<S: Subscriber> Layer<S> for CentralLogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        // Events of libraries and debug events do not belong into the audit trail.
        if *metadata.level() > Level::INFO || !metadata.target().starts_with("menace") {
            return;
        }
        let mut visitor = CentralLogVisitor::default();
        event.record(&mut visitor);
        let line = CentralLogLine {
            at: menace_server::time_text(now_ms()),
            level: metadata.level().as_str(),
            service: metadata.target(),
            message: visitor.message,
            fields: visitor.fields,
        };
        if let Err(error) = self.trail.add(&line)
            && !self.has_failed.swap(true, Ordering::Relaxed)
        {
            // The log cannot report its own failure, so stderr does, once.
            crate::terminal::error(&anyhow::Error::from(error));
        }
    }
}

#[derive(Default)]
struct CentralLogVisitor {
    message: String,
    fields: BTreeMap<&'static str, Value>,
}

impl Visit for CentralLogVisitor {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        if field.name() == "message" {
            self.message = text;
        } else {
            self.fields.insert(field.name(), text.into());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.message);
        } else {
            self.fields.insert(field.name(), value.into());
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.fields.insert(field.name(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields.insert(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.insert(field.name(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields.insert(field.name(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use menace_store::audit::verify;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn info_events_of_menace_are_in_the_trail_and_others_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let central = CentralLogLayer::new(AuditTrail::open(&path).unwrap());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(central), || {
            tracing::info!(cycle = 3, "measured");
            tracing::debug!("a debug event");
            tracing::warn!(target: "sqlx", "an event of a library");
        });
        let text = std::fs::read_to_string(&path).unwrap();
        let line: Value = serde_json::from_str(text.trim_end()).unwrap();
        assert_eq!(
            (&line["message"], &line["fields"]["cycle"], &line["level"]),
            (&"measured".into(), &3.into(), &"INFO".into())
        );
        assert_eq!((verify(&path).unwrap().lines, verify(&path).unwrap().problems.len()), (1, 0));
    }
}
