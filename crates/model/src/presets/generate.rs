//! Randomly generated presets.

use serde_json::{Value, json};

use super::{FailureMode, Preset};

/// Generates presets. `number` is the source of randomness: it returns a number below its argument.
pub fn generate(count: usize, mut number: impl FnMut(usize) -> usize) -> Vec<Preset> {
    (0..count).map(|index| one(index, &mut number)).collect()
}

fn one(index: usize, number: &mut impl FnMut(usize) -> usize) -> Preset {
    let mut pick = |among: &[Value]| among[number(among.len()) % among.len().max(1)].clone();
    let mut values = vec![
        ("SCENARIO_NAME", json!(format!("generated_{}", index + 1))),
        ("CPU_LIMIT", pick(&[json!("0.5"), json!("1"), json!("2")])),
        ("MEMORY_LIMIT", pick(&[json!("128Mi"), json!("256Mi"), json!("512Mi"), json!("1Gi")])),
        ("DISK_LIMIT", pick(&[json!("16Mi"), json!("64Mi"), json!("256Mi")])),
        ("TIMEOUT", pick(&[json!(2), json!(5), json!(10)])),
        ("NETWORK_LATENCY_MS", pick(&[json!(0), json!(50), json!(100), json!(200), json!(500)])),
        ("NETWORK_JITTER_MS", pick(&[json!(0), json!(5), json!(20), json!(50)])),
        ("PACKET_LOSS", pick(&[json!(0), json!(1), json!(5), json!(10)])),
        ("PACKET_DUPLICATION", pick(&[json!(0), json!(1)])),
        ("MAX_BANDWIDTH", pick(&[json!("1Mbps"), json!("10Mbps"), json!("100Mbps")])),
        ("SECURITY_LEVEL", pick(&[json!(1), json!(2), json!(3)])),
        ("THREAT_INTENSITY", pick(&[json!(10), json!(30), json!(50), json!(70)])),
    ];
    let mode = FailureMode::ALL[number(FailureMode::ALL.len()) % FailureMode::ALL.len()].1;
    values.push(("FAILURE_MODES", json!([mode])));
    Preset::of(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_presets_are_valid_and_depend_only_on_the_seed() {
        let numbers = |seed: usize| {
            let mut state = seed;
            move |end: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % end
            }
        };
        let made = generate(20, numbers(1));
        assert_eq!(made, generate(20, numbers(1)));
        assert_ne!(made, generate(20, numbers(2)));
        for preset in made {
            assert_eq!(Preset::new(preset.values().clone()), Ok(preset));
        }
    }
}
