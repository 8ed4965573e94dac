//! Settings of the dashboard, the exporters and the sources of metrics.

use std::path::PathBuf;
use std::time::Duration;

use crate::settings::Watts;

settings! {
    /// Dashboard and metrics.
    pub struct MetricsSettings;

    /// Port of the metrics dashboard; if unset, it is not started
    auto_dashboard_port: Option<u16> = "" {
        env: "AUTO_DASHBOARD_PORT",
        flag: "--dashboard-port",
        status: Active,
    }

    /// Port of the Prometheus exporter; if unset, it is not started
    metrics_port: Option<u16> = "" {
        env: "METRICS_PORT",
        flag: "--metrics-port",
        status: Active,
    }

    /// Start the exporter of synergy metrics
    export_synergy_metrics: bool = "0" {
        env: "EXPORT_SYNERGY_METRICS",
        status: Active,
    }

    /// Port of the exporter of synergy metrics
    synergy_metrics_port: u16 = "8003" {
        env: "SYNERGY_METRICS_PORT",
        status: Active,
    }

    /// Interval between health checks of the synergy exporter, in seconds
    synergy_exporter_check_interval: Duration = "10" {
        env: "SYNERGY_EXPORTER_CHECK_INTERVAL",
        status: Active,
    }

    /// YAML file that configures metrics and lists plugin directories
    metrics_file: Option<PathBuf> = "" {
        env: "SANDBOX_METRICS_FILE",
        status: Active,
    }

    /// Directories with metric plugins
    metrics_plugin_dir: Vec<PathBuf> = "" {
        env: "SANDBOX_METRICS_PLUGIN_DIR",
        status: Active,
    }

    /// Power of one busy core in watts, for hosts without readable energy counters
    watts_per_core: Watts = "10" {
        env: "SANDBOX_WATTS_PER_CORE",
        status: Active,
    }
}
