//! The keys of a preset: name and type of the value.

/// Type of the value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PresetKeyKind {
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
pub(super) const KEYS: [(&str, PresetKeyKind); 25] = [
    ("SCENARIO_NAME", PresetKeyKind::Text),
    ("FAILURE_MODES", PresetKeyKind::Modes),
    ("CPU_LIMIT", PresetKeyKind::Number),
    ("MEMORY_LIMIT", PresetKeyKind::Size),
    ("DISK_LIMIT", PresetKeyKind::Size),
    ("TIMEOUT", PresetKeyKind::Number),
    ("NETWORK_LATENCY_MS", PresetKeyKind::Number),
    ("NETWORK_JITTER_MS", PresetKeyKind::Number),
    ("PACKET_LOSS", PresetKeyKind::Percent),
    ("PACKET_DUPLICATION", PresetKeyKind::Percent),
    ("BANDWIDTH_LIMIT", PresetKeyKind::Rate),
    ("MIN_BANDWIDTH", PresetKeyKind::Rate),
    ("MAX_BANDWIDTH", PresetKeyKind::Rate),
    ("SECURITY_LEVEL", PresetKeyKind::Count),
    ("THREAT_INTENSITY", PresetKeyKind::Percent),
    ("SANDBOX_STUB_STRATEGY", PresetKeyKind::Text),
    ("THREAD_BURST", PresetKeyKind::Count),
    ("ASYNC_TASK_BURST", PresetKeyKind::Count),
    ("SCHEMA_MISMATCHES", PresetKeyKind::Count),
    ("SCHEMA_CHECKS", PresetKeyKind::Count),
    ("UPSTREAM_FAILURES", PresetKeyKind::Count),
    ("UPSTREAM_REQUESTS", PresetKeyKind::Count),
    ("OS_TYPE", PresetKeyKind::Text),
    ("VM_SETTINGS", PresetKeyKind::Text),
    ("SEVERITY", PresetKeyKind::Text),
];

/// The kind of a key.
pub(super) fn kind_of(key: &str) -> Option<PresetKeyKind> {
    KEYS.iter().find(|(name, _)| *name == key).map(|(_, kind)| *kind)
}
