//! Preset keys: network.

use crate::settings::{BitsPerSecond, Milliseconds, Percent};

settings! {
    /// Preset keys: network.
    pub struct NetworkSettings;

    /// Delay added to each packet, in milliseconds
    network_latency_ms: Option<Milliseconds> = "" {
        env: "NETWORK_LATENCY_MS",
        status: Planned,
    }

    /// Variation of the delay, in milliseconds
    network_jitter_ms: Option<Milliseconds> = "" {
        env: "NETWORK_JITTER_MS",
        status: Planned,
    }

    /// Share of lost packets, in percent
    packet_loss: Option<Percent> = "" {
        env: "PACKET_LOSS",
        status: Planned,
    }

    /// Share of duplicated packets, in percent
    packet_duplication: Option<Percent> = "" {
        env: "PACKET_DUPLICATION",
        status: Planned,
    }

    /// Bandwidth limit of a call
    bandwidth_limit: Option<BitsPerSecond> = "" {
        env: "BANDWIDTH_LIMIT",
        status: Planned,
    }

    /// Minimum bandwidth in generated presets
    min_bandwidth: Option<BitsPerSecond> = "" {
        env: "MIN_BANDWIDTH",
        status: Planned,
    }

    /// Maximum bandwidth in generated presets
    max_bandwidth: Option<BitsPerSecond> = "" {
        env: "MAX_BANDWIDTH",
        status: Planned,
    }
}
