//! Settings of logs, the audit trail, alerts and traces.

use std::path::PathBuf;

use crate::settings::Secret;

choice! {
    /// Log level. Ordered: a greater level logs more.
    pub enum LogLevel {
        /// Nothing.
        Off = "off",
        /// Failures. Python's `critical` is read as this level.
        Error = "error" | "critical" | "fatal",
        /// Events that may need attention.
        Warn = "warn" | "warning",
        /// Normal events.
        Info = "info",
        /// Details for debugging.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

settings! {
    /// Logging.
    pub struct LoggingSettings;

    /// Log level of the console
    log_level: LogLevel = "info" {
        env: "SANDBOX_LOG_LEVEL",
        flag: "--log-level",
        mirrors: "LOG_LEVEL",
        status: Active,
    }

    /// Log level used if `SANDBOX_LOG_LEVEL` is unset
    general_log_level: Option<LogLevel> = "" {
        env: "LOG_LEVEL",
        status: Active,
    }

    /// Log debug output, independent of the log level
    verbose: bool = "0" {
        env: "SANDBOX_VERBOSE",
        flag: "--verbose",
        status: Active,
    }

    /// Log debug output, independent of the log level; same as `SANDBOX_VERBOSE`
    debug: bool = "0" {
        env: "SANDBOX_DEBUG",
        status: Active,
    }

    /// Write each log entry as one line of JSON
    json_logs: bool = "0" {
        env: "SANDBOX_JSON_LOGS",
        status: Active,
    }

    /// Copy service logs to the audit trail; if unset, only in autonomous runs and synergy tools
    central_logging: Option<bool> = "" {
        env: "SANDBOX_CENTRAL_LOGGING",
        status: Active,
    }

    /// File of the audit trail; if unset, audit.jsonl in the data directory
    audit_log_path: Option<PathBuf> = "" {
        env: "AUDIT_LOG_PATH",
        status: Active,
    }

    /// URL to which alerts are posted as JSON
    alert_webhook_url: Option<Secret> = "" {
        env: "ALERT_WEBHOOK_URL",
        secret: true,
        status: Active,
    }

    /// Shell command that gets each alert as JSON on stdin
    alert_command: Option<String> = "" {
        env: "ALERT_COMMAND",
        status: Active,
    }

    /// URL of the OpenTelemetry collector that receives traces over HTTP
    otel_endpoint: Option<String> = "" {
        env: "OTEL_EXPORTER_OTLP_ENDPOINT",
        status: Active,
    }

    /// Kafka brokers that receive the logs instead of the audit trail, separated by commas
    kafka_hosts: Vec<String> = "" {
        env: "KAFKA_HOSTS",
        status: Planned,
    }
}

impl LoggingSettings {
    /// Log level of the console, with both debug switches applied.
    pub fn console_level(&self) -> LogLevel {
        if self.verbose || self.debug { self.log_level.max(LogLevel::Debug) } else { self.log_level }
    }
}

#[cfg(test)]
mod tests {
    use super::LogLevel;
    use crate::settings::{SettingSource, SettingsLayer, resolve};

    #[test]
    fn debug_switches_raise_the_level_and_never_lower_it() {
        let cases = [
            (&[("SANDBOX_LOG_LEVEL", "WARNING")][..], LogLevel::Warn),
            (&[("SANDBOX_LOG_LEVEL", "error"), ("SANDBOX_DEBUG", "1")], LogLevel::Debug),
            (&[("SANDBOX_LOG_LEVEL", "off"), ("SANDBOX_VERBOSE", "1")], LogLevel::Debug),
            (&[("SANDBOX_LOG_LEVEL", "trace"), ("SANDBOX_VERBOSE", "1")], LogLevel::Trace),
        ];
        for (variables, expected) in cases {
            let layer = SettingsLayer::new(SettingSource::Environment, variables.iter().copied());
            let logging = resolve(&[layer]).unwrap().settings.logging;
            assert_eq!(logging.console_level(), expected, "{variables:?}");
        }
    }
}
