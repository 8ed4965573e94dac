//! The canonical profiles that modules are run under, at two severities each.

use serde_json::json;

use super::Preset;

/// A canonical profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CanonicalProfile {
    /// The network is slow and loses packets.
    HighLatencyApi,
    /// Arguments have hostile values.
    HostileInput,
    /// Calls are wrong: missing fields, wrong types.
    UserMisuse,
    /// Many calls run concurrently.
    ConcurrencySpike,
    /// Fields of responses are renamed, dropped, added or retyped.
    SchemaDrift,
    /// Upstream requests fail intermittently.
    FlakyUpstream,
}

/// Severity of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProfileSeverity {
    /// Faults as on an ordinary bad day.
    Low,
    /// Faults as on the worst day.
    High,
}

impl ProfileSeverity {
    /// Both severities.
    pub const ALL: [Self; 2] = [Self::Low, Self::High];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
        }
    }
}

impl CanonicalProfile {
    /// All profiles.
    pub const ALL: [Self; 6] = [
        Self::HighLatencyApi,
        Self::HostileInput,
        Self::UserMisuse,
        Self::ConcurrencySpike,
        Self::SchemaDrift,
        Self::FlakyUpstream,
    ];

    /// The four profiles that every module must be run under.
    pub const COVERED: [Self; 4] =
        [Self::HighLatencyApi, Self::HostileInput, Self::UserMisuse, Self::ConcurrencySpike];

    /// The profile with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::HighLatencyApi => "high_latency_api",
            Self::HostileInput => "hostile_input",
            Self::UserMisuse => "user_misuse",
            Self::ConcurrencySpike => "concurrency_spike",
            Self::SchemaDrift => "schema_drift",
            Self::FlakyUpstream => "flaky_upstream",
        }
    }
}

/// The preset of a profile.
pub fn canonical(profile: CanonicalProfile, severity: ProfileSeverity) -> Preset {
    let name = profile.name();
    let by = |low: u32, high: u32| match severity {
        ProfileSeverity::Low => json!(low),
        ProfileSeverity::High => json!(high),
    };
    let own = match profile {
        CanonicalProfile::HighLatencyApi => vec![
            ("NETWORK_LATENCY_MS", by(200, 500)),
            ("NETWORK_JITTER_MS", by(20, 50)),
            ("PACKET_LOSS", by(5, 10)),
        ],
        CanonicalProfile::HostileInput => {
            vec![("THREAT_INTENSITY", by(30, 50)), ("SANDBOX_STUB_STRATEGY", json!("hostile"))]
        }
        CanonicalProfile::UserMisuse => {
            vec![("THREAT_INTENSITY", by(20, 30)), ("SANDBOX_STUB_STRATEGY", json!("misuse"))]
        }
        CanonicalProfile::ConcurrencySpike => {
            vec![("THREAD_BURST", by(10, 50)), ("ASYNC_TASK_BURST", by(20, 100))]
        }
        CanonicalProfile::SchemaDrift => {
            vec![("SCHEMA_MISMATCHES", by(5, 20)), ("SCHEMA_CHECKS", json!(100))]
        }
        CanonicalProfile::FlakyUpstream => {
            vec![("UPSTREAM_FAILURES", by(1, 5)), ("UPSTREAM_REQUESTS", json!(20))]
        }
    };
    let common = [
        ("SCENARIO_NAME", json!(name)),
        ("FAILURE_MODES", json!([name])),
        ("SEVERITY", json!(severity.name())),
    ];
    Preset::of(common.into_iter().chain(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_a_valid_preset_with_two_severities() {
        for profile in CanonicalProfile::ALL {
            let [low, high] = ProfileSeverity::ALL.map(|severity| canonical(profile, severity));
            assert_eq!(low.name(), profile.name());
            assert_ne!(low, high);
            for preset in [low, high] {
                assert_eq!(preset.failure_modes().len(), 1, "{preset:?}");
                assert_eq!(Preset::new(preset.values().clone()).as_ref(), Ok(&preset));
            }
        }
    }
}
