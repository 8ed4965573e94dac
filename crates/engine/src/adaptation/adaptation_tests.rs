use menace_model::ErrorDetails;
use menace_model::presets::{CanonicalProfile, Preset, ProfileSeverity, canonical, generate, read};
use serde_json::{Value, json};

use super::{adapt as adapt_on, *};

const LITTLE: StallThresholds = StallThresholds { roi: 0.01, synergy: 0.02, cycles: 3 };

fn trend(roi: &[f64]) -> MetricTrend {
    MetricTrend { roi: roi.to_vec(), synergy_roi: None, safety: Vec::new(), little: LITTLE }
}

fn with_synergy(roi: &[f64], synergy: f64) -> MetricTrend {
    MetricTrend { synergy_roi: Some(synergy), ..trend(roi) }
}

const LARGE: MachineResources = MachineResources { cpus: 64.0, memory: 1e12 };

fn adapt(presets: Vec<Preset>, trend: &MetricTrend) -> AdaptedPresets {
    adapt_on(presets, trend, &LARGE)
}

fn preset(values: &Value) -> Preset {
    Preset::new(values.as_object().unwrap().clone()).unwrap()
}

/// Adapts a preset with one key and returns the new value of the key.
fn adapted(key: &str, value: &Value, trend: &MetricTrend) -> Value {
    let made = adapt(vec![preset(&json!({key: value}))], trend);
    made.presets[0].values()[key].clone()
}

const STALLED: [f64; 4] = [0.5; 4];
const RISING: [f64; 4] = [0.1, 0.2, 0.4, 0.5];
const FALLING: [f64; 4] = [0.5, 0.4, 0.2, 0.1];

#[test]
fn a_stall_loosens_limits_and_a_gain_tightens_them() {
    for (key, before, stalled, rising) in [
        ("CPU_LIMIT", json!("1"), json!("2"), json!("0.5")),
        ("CPU_LIMIT", json!(1.5), json!(3.0), json!(0.75)),
        ("MEMORY_LIMIT", json!("512Mi"), json!("1024Mi"), json!("256Mi")),
        ("MEMORY_LIMIT", json!("1Gi"), json!("2Gi"), json!("0.5Gi")),
        ("MEMORY_LIMIT", json!(268_435_456), json!(536_870_912), json!(134_217_728)),
        ("MAX_BANDWIDTH", json!("10Mbps"), json!("20Mbps"), json!("5Mbps")),
        ("MIN_BANDWIDTH", json!("1.5 kbit"), json!("3 kbit"), json!("1.5 kbit")),
        ("BANDWIDTH_LIMIT", json!("2mbit"), json!("4mbit"), json!("1mbit")),
        ("NETWORK_LATENCY_MS", json!(100), json!(100), json!(100)),
        ("TIMEOUT", json!(5), json!(5), json!(5)),
        ("DISK_LIMIT", json!("1Mi"), json!("1Mi"), json!("1Mi")),
    ] {
        assert_eq!(adapted(key, &before, &trend(&STALLED)), stalled, "{key} after a stall");
        assert_eq!(adapted(key, &before, &trend(&RISING)), rising, "{key} after gains");
        assert_eq!(adapted(key, &before, &trend(&FALLING)), before, "{key} after losses");
    }
}

#[test]
fn adaptation_is_bounded_and_keeps_values_outside_the_bounds() {
    let (stalled, rising) = (trend(&[0.5; 40]), trend(&(0..40).map(f64::from).collect::<Vec<_>>()));
    for (key, before, most, least) in [
        ("CPU_LIMIT", json!("0.5"), json!("2"), json!("0.2")),
        ("CPU_LIMIT", json!("3"), json!("4"), json!("0.75")),
        ("CPU_LIMIT", json!("16"), json!("16"), json!("4")),
        ("CPU_LIMIT", json!("0.1"), json!("0.4"), json!("0.1")),
        ("MEMORY_LIMIT", json!("100Mi"), json!("400Mi"), json!("64Mi")),
        ("MEMORY_LIMIT", json!("1Gi"), json!("2Gi"), json!("0.25Gi")),
        ("MAX_BANDWIDTH", json!("900Mbps"), json!("1000Mbps"), json!("225Mbps")),
    ] {
        assert_eq!(adapted(key, &before, &stalled), most, "{key} {before}");
        assert_eq!(adapted(key, &before, &rising), least, "{key} {before}");
    }
}

#[test]
fn limits_stay_within_what_a_sandbox_accepts() {
    let small = MachineResources { cpus: 2.0, memory: f64::from(1 << 30) };
    let of = |values: Value, roi: &[f64]| {
        adapt_on(vec![preset(&values)], &trend(roi), &small).presets[0].values().clone()
    };
    let grown = of(json!({"CPU_LIMIT": "2", "MEMORY_LIMIT": "768Mi"}), &[0.5; 12]);
    assert_eq!((&grown["CPU_LIMIT"], &grown["MEMORY_LIMIT"]), (&json!("2"), &json!("1024Mi")));
    let grown = of(json!({"CPU_LIMIT": "1.5"}), &STALLED);
    assert_eq!(grown["CPU_LIMIT"], json!("2"));
    // Files of a sandbox are in its memory, so the memory limit leaves headroom above the disk limit.
    for (disk, memory) in [("64Mi", "128Mi"), ("200Mi", "204Mi"), ("256Mi", "256Mi")] {
        let shrunk = of(json!({"MEMORY_LIMIT": "256Mi", "DISK_LIMIT": disk}), &RISING);
        assert_eq!(shrunk["MEMORY_LIMIT"], json!(memory), "{disk}");
    }
}

#[test]
fn limits_tighten_again_once_gains_resume() {
    let at = |roi: &[f64]| adapted("MEMORY_LIMIT", &json!("256Mi"), &trend(roi));
    assert_eq!(at(&[0.5, 0.5, 0.5, 0.5, 0.5]), json!("1024Mi"));
    assert_eq!(at(&[0.5, 0.5, 0.5, 0.5, 0.5, 0.8]), json!("512Mi"));
    // An unsteady ROI changes nothing.
    assert_eq!(at(&[0.5, 0.5, 0.5, 0.5, 0.5, 0.8, 0.5]), json!("512Mi"));
}

#[test]
fn synergy_moves_the_network() {
    let unsteady = [0.5, 0.7, 0.4, 0.5];
    for (synergy, latency, bandwidth) in
        [(0.3, 100, "20Mbps"), (-0.3, 400, "5Mbps"), (0.01, 200, "10Mbps"), (f64::NAN, 200, "10Mbps")]
    {
        let trend = with_synergy(&unsteady, synergy);
        assert_eq!(adapted("NETWORK_LATENCY_MS", &json!(200), &trend), json!(latency), "{synergy}");
        assert_eq!(adapted("MAX_BANDWIDTH", &json!("10Mbps"), &trend), json!(bandwidth), "{synergy}");
        assert_eq!(adapted("CPU_LIMIT", &json!("1"), &trend), json!("1"), "{synergy}");
    }
    let nothing = with_synergy(&unsteady, 0.3);
    assert_eq!(adapted("NETWORK_LATENCY_MS", &json!(0), &nothing), json!(0), "a latency of 0 stays 0");
}

#[test]
fn threats_increase_while_safety_stalls() {
    let of = |safety: &[f64]| {
        let trend = MetricTrend { safety: safety.to_vec(), ..trend(&[0.5, 0.7, 0.4, 0.5]) };
        adapted("THREAT_INTENSITY", &json!(30), &trend)
    };
    assert_eq!((of(&[0.9; 4]), of(&FALLING), of(&RISING)), (json!(40), json!(20), json!(30)));
}

#[test]
fn short_or_non_finite_history_is_reported_and_changes_nothing() {
    let presets = read(r#"[{"SCENARIO_NAME": "a", "CPU_LIMIT": "1", "NETWORK_LATENCY_MS": 50}]"#).unwrap();
    for (roi, synergy, word) in [
        (&[][..], 0.5, "not enough history: 0 of 2"),
        (&[0.5], 0.5, "not enough history: 1 of 2"),
        (&[0.5, 0.5, 0.5], 0.0, "not enough history: 3 of 4"),
        (&[0.5, 0.5, f64::NAN, 0.5, 0.5], 0.0, "is not a number"),
        (&[0.5, f64::INFINITY, 0.5, 0.5], 0.0, "is not a number"),
        (&[0.5, 0.7, 0.4, 0.5], f64::INFINITY, "is not a number"),
    ] {
        let made = adapt(presets.clone(), &with_synergy(roi, synergy));
        assert_eq!((&made.presets, made.decisions.len()), (&presets, 0), "{roi:?}");
        assert!(made.seen.join("; ").contains(word), "{roi:?}: {:?}", made.seen);
    }
}

#[test]
fn the_baseline_and_the_purpose_of_a_preset_are_not_adapted() {
    let untouched = [
        json!({"SCENARIO_NAME": "normal"}),
        json!({"SCENARIO_NAME": "memory", "FAILURE_MODES": ["memory"], "MEMORY_LIMIT": "128Mi"}),
        json!({"SCENARIO_NAME": "cpu", "FAILURE_MODES": "resource_strain", "CPU_LIMIT": "0.4"}),
    ];
    let presets: Vec<Preset> = untouched.iter().map(preset).collect();
    for roi in [&STALLED, &RISING] {
        let made = adapt(presets.clone(), &with_synergy(roi, 0.5));
        assert_eq!((made.presets, made.decisions), (presets.clone(), Vec::new()));
    }
}

#[test]
fn every_decision_states_change_reason_and_values() {
    let made = adapt(vec![preset(&json!({"SCENARIO_NAME": "a", "MEMORY_LIMIT": "256Mi"}))], &trend(&STALLED));
    assert_eq!(
        made.decisions[0].to_string(),
        "a MEMORY_LIMIT 256Mi → 512Mi: ROI stalled (+0.0000 ± 0.0000 per cycle over 3 cycles, threshold 0.0100); \
         limit adjustment +1"
    );
    assert!(made.is_decided);
}

#[test]
fn adapted_presets_are_valid_and_keep_their_keys() {
    let mut state = 1_usize;
    let number = move |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % end
    };
    let mut presets = generate(50, number);
    presets.extend(CanonicalProfile::ALL.map(|profile| canonical(profile, ProfileSeverity::High)));
    for (roi, synergy) in [(&STALLED, 0.5), (&STALLED, -0.5), (&RISING, 0.5), (&RISING, -0.5)] {
        let trend = with_synergy(roi, synergy);
        let made = adapt(presets.clone(), &trend);
        assert_eq!(made, adapt(presets.clone(), &trend));
        assert!(made.decisions.len() > 50, "{}", made.decisions.len());
        for (before, after) in presets.iter().zip(&made.presets) {
            let keys = |preset: &Preset| preset.values().keys().cloned().collect::<Vec<_>>();
            assert_eq!((keys(before), before.name()), (keys(after), after.name()));
        }
    }
}

#[test]
fn adaptation_preserves_the_order_of_values() {
    let sizes: Vec<u64> = (0..60).map(|step| (1_u64 << 20) + step * (97 << 20)).collect();
    for trend in [trend(&STALLED), trend(&RISING), trend(&[0.5; 12])] {
        let after: Vec<u64> = sizes
            .iter()
            .map(|size| adapted("MEMORY_LIMIT", &json!(size), &trend).as_u64().unwrap())
            .collect();
        assert!(after.is_sorted(), "{after:?}");
        assert_ne!(after, sizes);
        let both = json!({"MIN_BANDWIDTH": "300Mbps", "MAX_BANDWIDTH": "600Mbps"});
        for synergy in [0.5, -0.5] {
            let made =
                adapt(vec![preset(&both)], &MetricTrend { synergy_roi: Some(synergy), ..trend.clone() });
            let of = |key: &str| made.presets[0].bits_per_second(key).unwrap();
            assert!(of("MIN_BANDWIDTH") <= of("MAX_BANDWIDTH"), "{:?}", made.presets);
        }
    }
}

const STATE: TrendState = TrendState { roi: TrendDirection::Stalled, synergy: SynergySign::None };
const EASIER: PolicyAction =
    PolicyAction { resources: AdjustmentDirection::Easier, network: AdjustmentDirection::Same };
const AS_WRITTEN: PolicyAction =
    PolicyAction { resources: AdjustmentDirection::Same, network: AdjustmentDirection::Same };

/// A policy at a cycle where it does not explore.
fn steady(seed: u64) -> AdaptationPolicy {
    let explores = |cycle: &usize| {
        menace_runner::RandomStream::new(seed, &["preset policy", &cycle.to_string()]).one_in(10)
    };
    AdaptationPolicy::new(seed, (0..1_000).find(|cycle| !explores(cycle)).unwrap())
}

#[test]
fn a_policy_follows_the_rules_until_it_has_learned() {
    let mut policy = steady(1);
    let moves = policy.moves(&trend(&STALLED));
    assert_eq!((moves.resources.notches, moves.network.notches, moves.is_decided), (1, 0, true));
    // The ROI fell by 0.2 after limits were loosened.
    policy.moves(&trend(&[0.5, 0.5, 0.5, 0.5, 0.3]));
    let (count, mean) = policy.learned(STATE, EASIER).unwrap();
    assert!(count == 1 && (mean + 0.2).abs() < 1e-12, "{count} {mean}");
    let mut wiser = steady(1);
    wiser.table.clone_from(&policy.table);
    let moves = wiser.moves(&trend(&STALLED));
    assert_ne!(moves.resources.notches, 1, "an action with a loss is not repeated: {}", moves.resources.why);
}

#[test]
fn rewards_are_averaged_and_only_the_next_cycle_counts() {
    let pending =
        |values: usize, roi: f64| policy::PendingAction { state: STATE, action: AS_WRITTEN, values, roi };
    for (case, known, history, expect) in [
        ("the next cycle", pending(2, 0.4), &[0.1, 0.4, 0.5][..], Some((1, 0.1))),
        ("no cycle yet", pending(3, 0.5), &[0.1, 0.4, 0.5], None),
        ("two cycles", pending(1, 0.1), &[0.1, 0.4, 0.5], None),
        ("another history", pending(2, 0.7), &[0.1, 0.4, 0.5], None),
        ("a shorter history", pending(7, 0.7), &[0.1, 0.4, 0.5], None),
        ("no number", pending(2, 0.4), &[0.1, 0.4, f64::NAN], None),
        ("nothing before", pending(0, 0.4), &[0.1], None),
    ] {
        let mut policy = AdaptationPolicy::new(0, 0);
        policy.pending = Some(known);
        policy.moves(&trend(history));
        let learned = policy.learned(STATE, AS_WRITTEN);
        let rounded = learned.map(|(count, mean)| (count, (mean * 1e9).round() / 1e9));
        assert_eq!(rounded, expect, "{case}");
    }
    let mut policy = AdaptationPolicy::new(0, 0);
    for reward in [0.1, 0.3, -0.1] {
        policy.pending = Some(pending(1, 0.5));
        policy.moves(&trend(&[0.5, 0.5 + reward]));
    }
    let (count, mean) = policy.learned(STATE, AS_WRITTEN).unwrap();
    assert!(count == 3 && (mean - 0.1).abs() < 1e-12, "{count} {mean}");
}

#[test]
fn a_policy_without_a_state_changes_nothing() {
    for roi in [&[][..], &[0.5], &[0.5, 0.5, f64::NAN, 0.5]] {
        let mut policy = AdaptationPolicy::new(0, 0);
        let moves = policy.moves(&with_synergy(roi, 0.5));
        assert_eq!((moves.resources.notches, moves.network.notches, moves.is_decided), (0, 0, false));
        assert!(!moves.resources.why.is_empty() && policy.pending.is_none());
    }
}

#[test]
fn exploration_derives_from_the_seed_and_covers_all_actions() {
    let done = |seed: u64| -> Vec<i32> {
        (0..300)
            .map(|cycle| AdaptationPolicy::new(seed, cycle).moves(&trend(&STALLED)).resources.notches)
            .collect()
    };
    assert_eq!(done(7), done(7));
    assert_ne!(done(7), done(8));
    assert!(done(7).contains(&-1) && done(7).contains(&0), "other actions are explored sometimes");
    assert!(
        done(7).iter().filter(|notches| **notches == 1).count() > 200,
        "the best action is mostly preferred"
    );
}

#[test]
fn a_policy_survives_a_round_trip_through_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/policy.json");
    let mut policy = AdaptationPolicy::read(&path, 3, 1).unwrap();
    policy.moves(&trend(&STALLED));
    policy.moves(&trend(&[0.5, 0.5, 0.5, 0.5, 0.3]));
    policy.write(&path).unwrap();
    let restored = AdaptationPolicy::read(&path, 3, 1).unwrap();
    assert_eq!((&restored.table, restored.pending), (&policy.table, policy.pending));
    assert!(!restored.table.is_empty() && restored.pending.is_some());
}

#[test]
fn files_of_another_kind_are_reported_and_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("policy.json");
    AdaptationPolicy::new(0, 0).write(&path).unwrap();
    let right = std::fs::read_to_string(&path).unwrap();
    let row = r#"{"state": {"roi": "stalled", "synergy": "none"}, "action": {"resources": "same", "network": "same"}, "count": 1, "mean": 0.5}"#;
    let with_rows = |rows: &str| right.replace("\"table\": []", &format!("\"table\": [{rows}]"));
    for (text, word) in [
        (String::new(), "EOF"),
        (right[..right.len() / 2].to_owned(), "EOF"),
        (right.replace("\"version\": 1", "\"version\": 2"), "version is 2"),
        (right.replace("menace preset", "another"), "kind is"),
        ("{\"version\": 1, \"modules\": []}".to_owned(), "unknown field"),
        ("weights".to_owned(), "expected value"),
        (with_rows(&row.replace(": 1,", ": 0,")), "count 0"),
        (with_rows(&format!("{row}, {row}")), "the same"),
    ] {
        std::fs::write(&path, &text).unwrap();
        let error = AdaptationPolicy::read(&path, 0, 0).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("policy.json"), "{text}: {error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    std::fs::write(&path, with_rows(row)).unwrap();
    assert_eq!(AdaptationPolicy::read(&path, 0, 0).unwrap().learned(STATE, AS_WRITTEN), Some((1, 0.5)));
}

#[test]
fn unknown_strategies_are_rejected_by_name() {
    for name in [None, Some(""), Some("table")] {
        assert_eq!(LearningStrategy::of_name(name).unwrap(), LearningStrategy::Table);
    }
    let error = LearningStrategy::of_name(Some("ppo")).unwrap_err();
    let hint = error.hint().unwrap_or_default();
    assert!(error.to_string().contains("\"ppo\"") && hint.contains("table"), "{error}: {hint}");
}
