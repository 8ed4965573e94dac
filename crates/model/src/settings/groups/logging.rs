//! Settings of what is logged, how, and where it goes.

use std::path::PathBuf;

use crate::settings::Secret;

choice! {
    /// How much is logged. Ordered: a greater level says more.
    pub enum LogLevel {
        /// Nothing.
        Off = "off",
        /// What failed. Python's `critical` counts as this too.
        Error = "error" | "critical" | "fatal",
        /// What may need attention.
        Warn = "warn" | "warning",
        /// What happens.
        Info = "info",
        /// How it happens.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

settings! {
    /// Logging.
    pub struct LoggingSettings;

    /// How much is logged on the console
    log_level: LogLevel = "info" {
        env: "SANDBOX_LOG_LEVEL",
        flag: "--log-level",
        mirrors: "LOG_LEVEL",
        status: Active,
    }

    /// Log level used when menace is given none of its own
    general_log_level: Option<LogLevel> = "" {
        env: "LOG_LEVEL",
        status: Active,
    }

    /// Log debug output whatever the log level says
    verbose: bool = "0" {
        env: "SANDBOX_VERBOSE",
        flag: "--verbose",
        status: Active,
    }

    /// Log debug output whatever the log level says, as the verbose switch does
    debug: bool = "0" {
        env: "SANDBOX_DEBUG",
        status: Active,
    }

    /// Write each log entry as one line of JSON
    json_logs: bool = "0" {
        env: "SANDBOX_JSON_LOGS",
        status: Active,
    }

    /// Copy service logs to the audit trail; nothing means only in autonomous runs and synergy tools
    central_logging: Option<bool> = "" {
        env: "SANDBOX_CENTRAL_LOGGING",
        status: Active,
    }

    /// File that the audit trail is appended to; nothing means audit.jsonl of the data directory
    audit_log_path: Option<PathBuf> = "" {
        env: "AUDIT_LOG_PATH",
        status: Active,
    }

    /// Address that alerts are sent to, as JSON
    alert_webhook_url: Option<Secret> = "" {
        env: "ALERT_WEBHOOK_URL",
        secret: true,
        status: Active,
    }

    /// Line of shell that gets each alert on its stdin, as JSON
    alert_command: Option<String> = "" {
        env: "ALERT_COMMAND",
        status: Active,
    }

    /// Address of a collector of OpenTelemetry that gets traces over HTTP
    otel_endpoint: Option<String> = "" {
        env: "OTEL_EXPORTER_OTLP_ENDPOINT",
        status: Active,
    }

    /// Kafka brokers that get the logs instead of the audit trail, separated by commas
    kafka_hosts: Vec<String> = "" {
        env: "KAFKA_HOSTS",
        status: Planned,
    }
}

impl LoggingSettings {
    /// The level for the console, once both debug switches had their say.
    pub fn console_level(&self) -> LogLevel {
        if self.verbose || self.debug { self.log_level.max(LogLevel::Debug) } else { self.log_level }
    }
}

#[cfg(test)]
mod tests {
    use super::LogLevel;
    use crate::settings::{Layer, Source, resolve};

    #[test]
    fn debug_switches_raise_the_level_and_never_lower_it() {
        let cases = [
            (&[("SANDBOX_LOG_LEVEL", "WARNING")][..], LogLevel::Warn),
            (&[("SANDBOX_LOG_LEVEL", "error"), ("SANDBOX_DEBUG", "1")], LogLevel::Debug),
            (&[("SANDBOX_LOG_LEVEL", "off"), ("SANDBOX_VERBOSE", "1")], LogLevel::Debug),
            (&[("SANDBOX_LOG_LEVEL", "trace"), ("SANDBOX_VERBOSE", "1")], LogLevel::Trace),
        ];
        for (variables, expected) in cases {
            let layer = Layer::new(Source::Environment, variables.iter().copied());
            let logging = resolve(&[layer]).unwrap().settings.logging;
            assert_eq!(logging.console_level(), expected, "{variables:?}");
        }
    }
}
