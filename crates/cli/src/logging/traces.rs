//! OpenTelemetry traces for a collector, if one is configured: the steps of runs and requests, with their durations.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

use crate::commands::UsageError;

/// Timeout of one export, and of the last one at exit.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Sender of spans; sends the remaining ones when dropped.
pub(crate) struct TracePipeline {
    provider: SdkTracerProvider,
}

impl TracePipeline {
    /// Starts sending to a collector. Other OpenTelemetry variables, such as those for headers and sampling, apply too.
    pub(super) fn to(endpoint: &str) -> Result<Self, UsageError> {
        let wrong = |problem: String| UsageError::Collector(problem);
        // Fails if there is a provider already, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::blocking::Client::builder().timeout(TIMEOUT).build();
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(client.map_err(|error| wrong(error.to_string()))?)
            .with_endpoint(address(endpoint, variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"))?)
            .with_protocol(protocol(&protocol_variable())?)
            .build()
            .map_err(|error| wrong(error.to_string()))?;
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let mut resource = Resource::builder().with_attribute(version);
        if variable("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("menace");
        }
        opentelemetry::global::set_text_map_propagator(TraceContextPropagator::new());
        let exporter = ReportingSpanExporter { exporter, is_lost: AtomicBool::new(false) };
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_batch_exporter(exporter)
            .build();
        Ok(Self { provider })
    }

    /// Layer that collects menace's own spans.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let is_ours =
            |span: &Metadata<'_>| span.target().starts_with("menace") && *span.level() <= Level::INFO;
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("menace"))
            .with_location(false)
            .with_threads(false)
            .with_filter(FilterFn::new(is_ours))
    }
}

impl Drop for TracePipeline {
    fn drop(&mut self) {
        // Failed exports have already been logged.
        let _ = self.provider.shutdown_with_timeout(TIMEOUT);
    }
}

/// Exporter that warns once when the collector becomes unreachable, and again only after it was back.
#[derive(Debug)]
struct ReportingSpanExporter {
    exporter: opentelemetry_otlp::SpanExporter,
    is_lost: AtomicBool,
}

impl SpanExporter for ReportingSpanExporter {
    fn export(&self, batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        let sent = self.exporter.export(batch);
        async move {
            let sent = sent.await;
            if let Err(error) = &sent
                && !self.is_lost.swap(true, Ordering::Relaxed)
            {
                tracing::warn!("OTEL_EXPORTER_OTLP_ENDPOINT: spans are lost: {error}");
            }
            if sent.is_ok() {
                self.is_lost.store(false, Ordering::Relaxed);
            }
            sent
        }
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn protocol_variable() -> String {
    let own = variable("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL");
    own.or_else(|| variable("OTEL_EXPORTER_OTLP_PROTOCOL")).unwrap_or_default()
}

/// URL for spans: the endpoint for traces if there is one, else `/v1/traces` below the general endpoint.
fn address(endpoint: &str, for_spans: Option<String>) -> Result<String, UsageError> {
    let address = for_spans.unwrap_or_else(|| format!("{}/v1/traces", endpoint.trim_end_matches('/')));
    let is_web = reqwest::Url::parse(&address).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if is_web {
        Ok(address)
    } else {
        Err(UsageError::Collector(format!("{address:?} is not an HTTP address")))
    }
}

fn protocol(name: &str) -> Result<Protocol, UsageError> {
    match name {
        "" | "http/protobuf" => Ok(Protocol::HttpBinary),
        "http/json" => Ok(Protocol::HttpJson),
        other => Err(UsageError::Collector(format!(
            "OTEL_EXPORTER_OTLP_PROTOCOL is {other:?}; supported are http/protobuf and http/json"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opentelemetry_variables_select_address_and_protocol() {
        let of = |endpoint: &str, own: Option<&str>| address(endpoint, own.map(str::to_owned)).ok();
        assert_eq!(of("http://a:4318/", None).as_deref(), Some("http://a:4318/v1/traces"));
        assert_eq!(of("http://a:4318", Some("https://b/spans")).as_deref(), Some("https://b/spans"));
        assert_eq!(of("localhost:4317", None), None);
        assert!(matches!(protocol(""), Ok(Protocol::HttpBinary)));
        assert!(matches!(protocol("http/json"), Ok(Protocol::HttpJson)));
        assert!(protocol("grpc").is_err());
    }
}
