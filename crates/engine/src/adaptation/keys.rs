//! The keys of presets that are adapted: what they are measured in, and how far they go.

use menace_model::presets::{FailureMode, Preset};
use serde_json::Value;

use super::adapt::{Machine, Move, Moves};

/// A key.
pub(super) struct Key {
    pub(super) name: &'static str,
    unit: Unit,
    follows: Follows,
    step: Step,
    /// What it is not adapted below and above. What somebody wrote may be further out, and then stays.
    bounds: (f64, f64),
}

#[derive(Clone, Copy)]
enum Unit {
    Plain,
    Bytes,
    BitsPerSecond,
}

#[derive(Clone, Copy)]
enum Follows {
    Resources,
    Network,
    Both,
    Threats,
}

/// What a notch does.
#[derive(Clone, Copy)]
enum Step {
    /// Twice as much.
    Double,
    /// Half as much.
    Halve,
    /// So much more.
    Add(f64),
}

const MIB: f64 = 1_048_576.0;
/// Memory that has to be left beside the files of a sandbox.
const BESIDE_FILES: f64 = 4.0 * MIB;

/// The lower ends of CPU and memory are those of presets that are there to be short of them. The upper ends are what a
/// machine that people develop on can give to a call.
pub(super) const KEYS: [Key; 7] = [
    Key {
        name: "CPU_LIMIT",
        unit: Unit::Plain,
        follows: Follows::Resources,
        step: Step::Double,
        bounds: (0.2, 4.0),
    },
    Key {
        name: "MEMORY_LIMIT",
        unit: Unit::Bytes,
        follows: Follows::Resources,
        step: Step::Double,
        bounds: (64.0 * MIB, 2048.0 * MIB),
    },
    bandwidth("MIN_BANDWIDTH"),
    bandwidth("MAX_BANDWIDTH"),
    bandwidth("BANDWIDTH_LIMIT"),
    Key {
        name: "NETWORK_LATENCY_MS",
        unit: Unit::Plain,
        follows: Follows::Network,
        step: Step::Halve,
        bounds: (10.0, 2000.0),
    },
    Key {
        name: "THREAT_INTENSITY",
        unit: Unit::Plain,
        follows: Follows::Threats,
        step: Step::Add(10.0),
        bounds: (10.0, 90.0),
    },
];

/// All of them move alike, so that the least never is more than the most.
const fn bandwidth(name: &'static str) -> Key {
    Key { name, unit: Unit::BitsPerSecond, follows: Follows::Both, step: Step::Double, bounds: (100e3, 1e9) }
}

impl Key {
    /// The moves that it follows.
    pub(super) fn reasons<'a>(&self, moves: &'a Moves) -> Vec<&'a Move> {
        match self.follows {
            Follows::Resources => vec![&moves.resources],
            Follows::Network => vec![&moves.network],
            Follows::Both => vec![&moves.resources, &moves.network],
            Follows::Threats => vec![&moves.threats],
        }
    }

    /// Whether a preset is there for the sake of this limit: with more of it, nothing would be left of the preset.
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
            Unit::Plain => preset.number(self.name),
            Unit::Bytes => preset.bytes(self.name).map(|bytes| bytes as f64),
            Unit::BitsPerSecond => preset.bits_per_second(self.name).map(|bits| bits as f64),
        }
    }

    /// A sandbox with more than the machine has is refused, and so is one whose files have no room in its memory.
    fn bounds_of(&self, preset: &Preset, machine: &Machine) -> (f64, f64) {
        let (least, most) = self.bounds;
        match self.name {
            "CPU_LIMIT" => (least, most.min(machine.cpus)),
            "MEMORY_LIMIT" => {
                let files = preset.bytes("DISK_LIMIT").map_or(0.0, |disk| disk as f64 + BESIDE_FILES);
                (least.max(files), most.min(machine.memory))
            }
            _ => (least, most),
        }
    }

    fn target(&self, amount: f64, notches: i32, (least, most): (f64, f64)) -> f64 {
        let target = match self.step {
            Step::Double => amount * 2_f64.powi(notches),
            Step::Halve => amount * 2_f64.powi(-notches),
            Step::Add(step) => amount + step * f64::from(notches),
        };
        target.clamp(least.min(amount), most.max(amount))
    }
}

/// The value of a key so many notches further; nothing if that is where it is.
pub(super) fn moved(preset: &Preset, key: &Key, notches: i32, machine: &Machine) -> Option<Value> {
    let before = preset.values().get(key.name)?;
    let amount = key.amount(preset)?;
    // Nothing of something, or no limit at all, is not a figure that could be doubled.
    let is_nothing = amount == 0.0 && !matches!(key.step, Step::Add(_));
    if notches == 0 || is_nothing || key.is_purpose_of(preset) {
        return None;
    }
    let target = key.target(amount, notches, key.bounds_of(preset, machine));
    let after = match (before, key.unit) {
        (Value::String(_), Unit::Plain) => Value::from(rounded(target)),
        (Value::String(text), Unit::Bytes | Unit::BitsPerSecond) => {
            Value::from(with_its_unit(text, target / amount)?)
        }
        (Value::Number(number), _) if number.is_f64() => Value::from(target),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between bounds, none of which is negative or near the end of the numbers"
        )]
        _ => Value::from(target.round() as u64),
    };
    (after != *before).then_some(after)
}

/// `512Mi` twice is `1024Mi`: whoever wrote a unit finds it again.
fn with_its_unit(text: &str, factor: f64) -> Option<String> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (amount, unit) = text.split_at(end);
    let amount: f64 = amount.parse().ok()?;
    Some(format!("{}{unit}", rounded(amount * factor)))
}

fn rounded(number: f64) -> String {
    ((number * 1e4).round() / 1e4).to_string()
}
