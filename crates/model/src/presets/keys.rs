//! The keys of a preset: name and type of the value.

/// Type of the value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number that is not negative.
    Number,
    /// A whole number that is not negative.
    Count,
    /// Between 0 and 100.
    Percent,
    /// Bytes, such as `256Mi`, `512m` or a number.
    Size,
    /// Bits per second, such as `10Mbps` or a number.
    Rate,
    /// Any text.
    Text,
    /// A list of failure modes, or one text with commas.
    Modes,
}

/// All keys.
pub(super) const KEYS: [(&str, Kind); 25] = [
    ("SCENARIO_NAME", Kind::Text),
    ("FAILURE_MODES", Kind::Modes),
    ("CPU_LIMIT", Kind::Number),
    ("MEMORY_LIMIT", Kind::Size),
    ("DISK_LIMIT", Kind::Size),
    ("TIMEOUT", Kind::Number),
    ("NETWORK_LATENCY_MS", Kind::Number),
    ("NETWORK_JITTER_MS", Kind::Number),
    ("PACKET_LOSS", Kind::Percent),
    ("PACKET_DUPLICATION", Kind::Percent),
    ("BANDWIDTH_LIMIT", Kind::Rate),
    ("MIN_BANDWIDTH", Kind::Rate),
    ("MAX_BANDWIDTH", Kind::Rate),
    ("SECURITY_LEVEL", Kind::Count),
    ("THREAT_INTENSITY", Kind::Percent),
    ("SANDBOX_STUB_STRATEGY", Kind::Text),
    ("THREAD_BURST", Kind::Count),
    ("ASYNC_TASK_BURST", Kind::Count),
    ("SCHEMA_MISMATCHES", Kind::Count),
    ("SCHEMA_CHECKS", Kind::Count),
    ("UPSTREAM_FAILURES", Kind::Count),
    ("UPSTREAM_REQUESTS", Kind::Count),
    ("OS_TYPE", Kind::Text),
    ("VM_SETTINGS", Kind::Text),
    ("SEVERITY", Kind::Text),
];

/// The kind of a key.
pub(super) fn kind_of(key: &str) -> Option<Kind> {
    KEYS.iter().find(|(name, _)| *name == key).map(|(_, kind)| *kind)
}
