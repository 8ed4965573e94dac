//! Preset keys that are adapted, with their units, steps and bounds.

use menace_model::presets::{FailureMode, Preset};
use serde_json::Value;

use super::adapter::{AspectAdjustment, CycleAdjustments, MachineResources};

/// A preset key that is adapted.
pub(super) struct AdaptedKey {
    pub(super) name: &'static str,
    unit: AdaptedKeyUnit,
    follows: KeyAspect,
    step: NotchEffect,
    /// Lower and upper bound of adaptation. A value in the preset that is already outside the bounds is not pulled in.
    bounds: (f64, f64),
}

#[derive(Clone, Copy)]
enum AdaptedKeyUnit {
    Plain,
    Bytes,
    BitsPerSecond,
}

#[derive(Clone, Copy)]
enum KeyAspect {
    Resources,
    Network,
    Both,
    Threats,
}

/// Effect of one notch on the value.
#[derive(Clone, Copy)]
enum NotchEffect {
    /// Doubles the value.
    Double,
    /// Halves the value.
    Halve,
    /// Adds a constant.
    Add(f64),
}

const MIB: f64 = 1_048_576.0;
/// Memory that must remain free beside the files of a sandbox.
const FILE_HEADROOM: f64 = 4.0 * MIB;

/// The lower bounds of CPU and memory are those of presets that test a shortage of them. The upper bounds are what a
/// developer's machine can give to one call.
pub(super) const KEYS: [AdaptedKey; 7] = [
    AdaptedKey {
        name: "CPU_LIMIT",
        unit: AdaptedKeyUnit::Plain,
        follows: KeyAspect::Resources,
        step: NotchEffect::Double,
        bounds: (0.2, 4.0),
    },
    AdaptedKey {
        name: "MEMORY_LIMIT",
        unit: AdaptedKeyUnit::Bytes,
        follows: KeyAspect::Resources,
        step: NotchEffect::Double,
        bounds: (64.0 * MIB, 2048.0 * MIB),
    },
    bandwidth("MIN_BANDWIDTH"),
    bandwidth("MAX_BANDWIDTH"),
    bandwidth("BANDWIDTH_LIMIT"),
    AdaptedKey {
        name: "NETWORK_LATENCY_MS",
        unit: AdaptedKeyUnit::Plain,
        follows: KeyAspect::Network,
        step: NotchEffect::Halve,
        bounds: (10.0, 2000.0),
    },
    AdaptedKey {
        name: "THREAT_INTENSITY",
        unit: AdaptedKeyUnit::Plain,
        follows: KeyAspect::Threats,
        step: NotchEffect::Add(10.0),
        bounds: (10.0, 90.0),
    },
];

/// Bandwidth keys share step and bounds, so that the minimum never exceeds the maximum.
const fn bandwidth(name: &'static str) -> AdaptedKey {
    AdaptedKey {
        name,
        unit: AdaptedKeyUnit::BitsPerSecond,
        follows: KeyAspect::Both,
        step: NotchEffect::Double,
        bounds: (100e3, 1e9),
    }
}

impl AdaptedKey {
    /// Adjustments that apply to this key.
    pub(super) fn reasons<'a>(&self, moves: &'a CycleAdjustments) -> Vec<&'a AspectAdjustment> {
        match self.follows {
            KeyAspect::Resources => vec![&moves.resources],
            KeyAspect::Network => vec![&moves.network],
            KeyAspect::Both => vec![&moves.resources, &moves.network],
            KeyAspect::Threats => vec![&moves.threats],
        }
    }

    /// Whether this limit is the purpose of the preset: raising it would remove the stress that the preset exists for.
    fn is_purpose_of(&self, preset: &Preset) -> bool {
        let is_for = |mode: FailureMode| match self.name {
            "CPU_LIMIT" => matches!(
                mode,
                FailureMode::Cpu
                    | FailureMode::CpuSpike
                    | FailureMode::ResourceStrain
                    | FailureMode::IoCpuStrain
            ),
            "MEMORY_LIMIT" => mode == FailureMode::Memory,
            _ => false,
        };
        preset.failure_modes().into_iter().any(is_for)
    }

    fn amount(&self, preset: &Preset) -> Option<f64> {
        match self.unit {
            AdaptedKeyUnit::Plain => preset.number(self.name),
            AdaptedKeyUnit::Bytes => preset.bytes(self.name).map(|bytes| bytes as f64),
            AdaptedKeyUnit::BitsPerSecond => preset.bits_per_second(self.name).map(|bits| bits as f64),
        }
    }

    /// Bounds for this preset and machine. The backend rejects a sandbox with more resources than the machine has, and one
    /// whose files do not fit into its memory.
    fn bounds_of(&self, preset: &Preset, machine: &MachineResources) -> (f64, f64) {
        let (least, most) = self.bounds;
        match self.name {
            "CPU_LIMIT" => (least, most.min(machine.cpus)),
            "MEMORY_LIMIT" => {
                let files = preset.bytes("DISK_LIMIT").map_or(0.0, |disk| disk as f64 + FILE_HEADROOM);
                (least.max(files), most.min(machine.memory))
            }
            _ => (least, most),
        }
    }

    fn target(&self, amount: f64, notches: i32, (least, most): (f64, f64)) -> f64 {
        let target = match self.step {
            NotchEffect::Double => amount * 2_f64.powi(notches),
            NotchEffect::Halve => amount * 2_f64.powi(-notches),
            NotchEffect::Add(step) => amount + step * f64::from(notches),
        };
        target.clamp(least.min(amount), most.max(amount))
    }
}

/// Value of a key moved by `notches`; `None` if it does not change.
pub(super) fn adjusted_value(
    preset: &Preset,
    key: &AdaptedKey,
    notches: i32,
    machine: &MachineResources,
) -> Option<Value> {
    let before = preset.values().get(key.name)?;
    let amount = key.amount(preset)?;
    // 0 means none, or no limit: it cannot be doubled or halved.
    let is_zero = amount == 0.0 && !matches!(key.step, NotchEffect::Add(_));
    if notches == 0 || is_zero || key.is_purpose_of(preset) {
        return None;
    }
    let target = key.target(amount, notches, key.bounds_of(preset, machine));
    let after = match (before, key.unit) {
        (Value::String(_), AdaptedKeyUnit::Plain) => Value::from(rounded(target)),
        (Value::String(text), AdaptedKeyUnit::Bytes | AdaptedKeyUnit::BitsPerSecond) => {
            Value::from(scaled_with_unit(text, target / amount)?)
        }
        (Value::Number(number), _) if number.is_f64() => Value::from(target),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the value is within bounds, which are neither negative nor near u64::MAX"
        )]
        _ => Value::from(target.round() as u64),
    };
    (after != *before).then_some(after)
}

/// Scales the number and keeps the unit as written: `512Mi` doubled is `1024Mi`.
fn scaled_with_unit(text: &str, factor: f64) -> Option<String> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (amount, unit) = text.split_at(end);
    let amount: f64 = amount.parse().ok()?;
    Some(format!("{}{unit}", rounded(amount * factor)))
}

fn rounded(number: f64) -> String {
    ((number * 1e4).round() / 1e4).to_string()
}
