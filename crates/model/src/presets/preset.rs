//! A preset: its values, their validation and typed access to them.

use serde::Serialize;
use serde_json::{Map, Value};
use thiserror::Error;

use super::keys::{KEYS, PresetKeyKind, kind_of};
use super::suggestion::nearest;
use crate::{ErrorClass, ErrorDetails};

/// A kind of stress applied to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "each has the name that users write; its effect is documented where it is applied"
)]
pub enum FailureMode {
    HighLatency,
    HighLatencyApi,
    LatencySpike,
    HostileInput,
    UserMisuse,
    ConcurrencySpike,
    SchemaDrift,
    FlakyUpstream,
    ResourceStrain,
    IoCpuStrain,
    Cpu,
    CpuSpike,
    Memory,
    Disk,
    DiskCorruption,
    Network,
    NetworkPartition,
    Timeout,
    ChaoticFailure,
}

impl FailureMode {
    /// All failure modes, with their names.
    pub const ALL: [(Self, &'static str); 19] = [
        (Self::HighLatency, "high_latency"),
        (Self::HighLatencyApi, "high_latency_api"),
        (Self::LatencySpike, "latency_spike"),
        (Self::HostileInput, "hostile_input"),
        (Self::UserMisuse, "user_misuse"),
        (Self::ConcurrencySpike, "concurrency_spike"),
        (Self::SchemaDrift, "schema_drift"),
        (Self::FlakyUpstream, "flaky_upstream"),
        (Self::ResourceStrain, "resource_strain"),
        (Self::IoCpuStrain, "io_cpu_strain"),
        (Self::Cpu, "cpu"),
        (Self::CpuSpike, "cpu_spike"),
        (Self::Memory, "memory"),
        (Self::Disk, "disk"),
        (Self::DiskCorruption, "disk_corruption"),
        (Self::Network, "network"),
        (Self::NetworkPartition, "network_partition"),
        (Self::Timeout, "timeout"),
        (Self::ChaoticFailure, "chaotic_failure"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(mode, _)| *mode == self).map_or("", |(_, name)| name)
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(mode, _)| *mode)
    }
}

/// A dictionary whose keys and values were validated, in the order in which it was written.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Preset {
    values: Map<String, Value>,
}

/// An invalid preset.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PresetError {
    /// The text is not JSON.
    #[error("failed to read presets: {0}")]
    Json(String),
    /// The JSON has none of the forms of presets.
    #[error("expected a dictionary, a list of dictionaries or a dictionary of profiles, found {0}")]
    Form(&'static str),
    /// A key that no preset has.
    #[error("unknown key {key} in preset {preset}")]
    Key {
        /// The preset.
        preset: String,
        /// The key.
        key: String,
        /// The nearest known key.
        nearest: Option<String>,
    },
    /// A failure mode that does not exist.
    #[error("unknown failure mode {mode} in preset {preset}")]
    Mode {
        /// The preset.
        preset: String,
        /// The mode.
        mode: String,
        /// The nearest known mode.
        nearest: Option<String>,
    },
    /// A value that the key does not accept.
    #[error("invalid value {value} for {key} in preset {preset}: expected {expected}")]
    Value {
        /// The preset.
        preset: String,
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// Description of the accepted values.
        expected: &'static str,
    },
    /// A profile that does not exist.
    #[error("unknown profile {profile}")]
    Profile {
        /// The profile.
        profile: String,
        /// The nearest known profile.
        nearest: Option<String>,
    },
}

impl PresetError {
    /// The error for a profile that does not exist.
    pub fn unknown_profile(profile: &str) -> Self {
        let known = super::CanonicalProfile::ALL.map(super::CanonicalProfile::name);
        Self::Profile { profile: profile.to_owned(), nearest: nearest(profile, known).map(str::to_owned) }
    }
}

impl ErrorDetails for PresetError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Json(_)
            | Self::Form(_)
            | Self::Key { .. }
            | Self::Mode { .. }
            | Self::Value { .. }
            | Self::Profile { .. } => ErrorClass::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        let (what, nearest) = match self {
            Self::Key { nearest, .. } => ("key", nearest.as_ref()?),
            Self::Mode { nearest, .. } => ("mode", nearest.as_ref()?),
            Self::Profile { nearest, .. } => ("profile", nearest.as_ref()?),
            Self::Json(_) | Self::Form(_) | Self::Value { .. } => return None,
        };
        Some(format!("the nearest {what} is {nearest}"))
    }
}

impl Preset {
    /// Validates a dictionary.
    pub fn new(values: Map<String, Value>) -> Result<Self, PresetError> {
        let name = values.get("SCENARIO_NAME").and_then(Value::as_str).unwrap_or("(unnamed)").to_owned();
        for (key, value) in &values {
            let Some(kind) = kind_of(key) else {
                let nearest = nearest(key, KEYS.iter().map(|(known, _)| *known)).map(str::to_owned);
                return Err(PresetError::Key { preset: name, key: key.clone(), nearest });
            };
            check(&name, key, value, kind)?;
        }
        Ok(Self { values })
    }

    /// A preset whose values are known to be valid.
    pub(super) fn of(values: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        Self { values: values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect() }
    }

    /// A preset that only has a name.
    pub fn named(name: &str) -> Self {
        Self::of([("SCENARIO_NAME", Value::from(name))])
    }

    /// Sets the input strategy, unless the preset has one.
    #[must_use]
    pub fn or_strategy(mut self, strategy: &str) -> Self {
        self.values.entry("SANDBOX_STUB_STRATEGY").or_insert_with(|| Value::from(strategy));
        self
    }

    /// Whether it applies no stress to calls, so that other presets are compared with it.
    pub fn is_baseline(&self) -> bool {
        self.values.keys().all(|key| matches!(key.as_str(), "SCENARIO_NAME" | "SEVERITY"))
    }

    /// Its name; without one, the name of its first failure mode.
    pub fn name(&self) -> &str {
        let named = self.values.get("SCENARIO_NAME").and_then(Value::as_str);
        named.unwrap_or_else(|| self.failure_modes().first().map_or("normal", |mode| mode.name()))
    }

    /// Its failure modes.
    pub fn failure_modes(&self) -> Vec<FailureMode> {
        let Some(value) = self.values.get("FAILURE_MODES") else { return Vec::new() };
        modes(value).into_iter().filter_map(|name| FailureMode::of_name(&name)).collect()
    }

    /// Value of a key as a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        number(self.values.get(key)?)
    }

    /// Value of a key in bits per second.
    pub fn bits_per_second(&self, key: &str) -> Option<u64> {
        bits_per_second(self.values.get(key)?)
    }

    /// Value of a key as text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.as_str()
    }

    /// Value of a key in bytes.
    pub fn bytes(&self, key: &str) -> Option<u64> {
        bytes(self.values.get(key)?)
    }

    /// The dictionary.
    pub fn values(&self) -> &Map<String, Value> {
        &self.values
    }
}

fn check(preset: &str, key: &str, value: &Value, kind: PresetKeyKind) -> Result<(), PresetError> {
    let is_right = match kind {
        PresetKeyKind::Text => value.is_string() || value.is_object(),
        PresetKeyKind::Number => number(value).is_some_and(|number| number >= 0.0),
        PresetKeyKind::Count => number(value).is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
        PresetKeyKind::Percent => number(value).is_some_and(|number| (0.0..=100.0).contains(&number)),
        PresetKeyKind::Size => bytes(value).is_some(),
        PresetKeyKind::Rate => bits_per_second(value).is_some(),
        PresetKeyKind::Modes => {
            if !(value.is_string() || value.is_array()) {
                return Err(wrong(preset, key, value, "a list of failure modes"));
            }
            for mode in modes(value) {
                if FailureMode::of_name(&mode).is_none() {
                    let known = FailureMode::ALL.iter().map(|(_, name)| *name);
                    let nearest = nearest(&mode, known).map(str::to_owned);
                    return Err(PresetError::Mode { preset: preset.to_owned(), mode, nearest });
                }
            }
            true
        }
    };
    let expected = match kind {
        PresetKeyKind::Text => "a text",
        PresetKeyKind::Number => "a number that is not negative",
        PresetKeyKind::Count => "a whole number that is not negative",
        PresetKeyKind::Percent => "a number between 0 and 100",
        PresetKeyKind::Size => "a number of bytes such as 256Mi or 512m",
        PresetKeyKind::Rate => "a number of bits per second such as 10Mbps",
        PresetKeyKind::Modes => "a list of failure modes",
    };
    if is_right { Ok(()) } else { Err(wrong(preset, key, value, expected)) }
}

fn wrong(preset: &str, key: &str, value: &Value, expected: &'static str) -> PresetError {
    PresetError::Value { preset: preset.to_owned(), key: key.to_owned(), value: value.to_string(), expected }
}

/// Reads a number, written as a JSON number or as text.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

fn modes(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
        }
        Value::String(text) => {
            text.split(',').map(str::trim).filter(|mode| !mode.is_empty()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// Reads `256Mi`, `512m`, `1g`: powers of 1024, as the seeds write sizes.
fn bytes(value: &Value) -> Option<u64> {
    let Value::String(text) = value else { return value.as_u64() };
    let text = text.trim();
    let digits =
        text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (amount, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    scaled(amount, unit.trim_end_matches('b').trim_end_matches('i'), 1024.0)
}

/// Reads `10Mbps`, `10mbit`, `10m` or a number: bits, in powers of 1000.
fn bits_per_second(value: &Value) -> Option<u64> {
    let Value::String(text) = value else { return value.as_u64() };
    let text = text.trim().to_ascii_lowercase();
    let text = ["bit/s", "bps", "bit", "b"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(&text);
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    scaled(digits, text[digits.len()..].trim(), 1000.0)
}

fn scaled(amount: &str, prefix: &str, step: f64) -> Option<u64> {
    let power = ["", "k", "m", "g", "t"].iter().position(|known| *known == prefix)?;
    let amount: f64 = amount.trim().parse().ok()?;
    let bytes = amount * step.powi(i32::try_from(power).ok()?);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    (0.0..1e18).contains(&bytes).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn preset(value: &Value) -> Result<Preset, PresetError> {
        Preset::new(value.as_object().unwrap().clone())
    }

    #[test]
    fn rates_are_decimal_bits_and_sizes_are_binary_bytes() {
        let rate = |text: &str| bits_per_second(&json!(text));
        assert_eq!(
            (rate("10Mbps"), rate("1.5 kbit"), rate("100")),
            (Some(10_000_000), Some(1500), Some(100))
        );
        assert_eq!((rate("10 parsecs"), rate("")), (None, None));
        let size = |text: &str| bytes(&json!(text));
        assert_eq!((size("64Mi"), size("1g"), size("2KB")), (Some(64 << 20), Some(1 << 30), Some(2048)));
    }

    #[test]
    fn values_in_the_form_of_the_seeds_are_read() {
        let read = preset(&json!({
            "SCENARIO_NAME": "slow", "CPU_LIMIT": "0.5", "MEMORY_LIMIT": "256Mi", "DISK_LIMIT": "1g",
            "FAILURE_MODES": "hostile_input, cpu", "TIMEOUT": 5, "MAX_BANDWIDTH": "10Mbps",
        }))
        .unwrap();
        assert_eq!((read.name(), read.number("CPU_LIMIT")), ("slow", Some(0.5)));
        assert_eq!((read.bytes("MEMORY_LIMIT"), read.bytes("DISK_LIMIT")), (Some(256 << 20), Some(1 << 30)));
        assert_eq!(read.bits_per_second("MAX_BANDWIDTH"), Some(10_000_000));
        assert_eq!(read.failure_modes(), [FailureMode::HostileInput, FailureMode::Cpu]);
        assert_eq!(preset(&json!({"FAILURE_MODES": ["cpu"]})).unwrap().name(), "cpu");
    }

    #[test]
    fn errors_name_the_mistake_and_the_nearest_word() {
        let error = |value: &Value| preset(value).unwrap_err().to_string();
        let hint = |value: &Value| preset(value).unwrap_err().hint();
        let unknown = json!({"SCENARIO_NAME": "x", "MEMROY_LIMIT": "1g"});
        assert_eq!(error(&unknown), "unknown key MEMROY_LIMIT in preset x");
        assert_eq!(hint(&unknown).unwrap(), "the nearest key is MEMORY_LIMIT");
        let misspelt = json!({"FAILURE_MODES": "hostile_imput"});
        assert_eq!(hint(&misspelt).unwrap(), "the nearest mode is hostile_input");
        assert_eq!(hint(&json!({"PACKET_LOSS": 101})), None);
        assert!(error(&json!({"PACKET_LOSS": 101})).contains("between 0 and 100"));
        assert!(error(&json!({"MEMORY_LIMIT": "12parsecs"})).contains("256Mi"));
        assert!(error(&json!({"CPU_LIMIT": -1})).contains("not negative"));
        assert!(error(&json!({"THREAD_BURST": 1.5})).contains("whole"));
    }
}
