//! The keys of a preset that shape the network of a call.

use crate::settings::{Bandwidth, Milliseconds, Percent};

settings! {
    /// Preset keys: network.
    pub struct NetworkSettings;

    /// Delay added to each packet, in milliseconds
    network_latency_ms: Option<Milliseconds> = "" {
        env: "NETWORK_LATENCY_MS",
        status: Planned,
    }

    /// How far the delay varies, in milliseconds
    network_jitter_ms: Option<Milliseconds> = "" {
        env: "NETWORK_JITTER_MS",
        status: Planned,
    }

    /// Packets that get lost, in percent
    packet_loss: Option<Percent> = "" {
        env: "PACKET_LOSS",
        status: Planned,
    }

    /// Packets that arrive twice, in percent
    packet_duplication: Option<Percent> = "" {
        env: "PACKET_DUPLICATION",
        status: Planned,
    }

    /// Bandwidth of a call
    bandwidth_limit: Option<Bandwidth> = "" {
        env: "BANDWIDTH_LIMIT",
        status: Planned,
    }

    /// Least bandwidth that generated presets may give
    min_bandwidth: Option<Bandwidth> = "" {
        env: "MIN_BANDWIDTH",
        status: Planned,
    }

    /// Most bandwidth that generated presets may give
    max_bandwidth: Option<Bandwidth> = "" {
        env: "MAX_BANDWIDTH",
        status: Planned,
    }
}
