//! Selection of the presets of a run: given, generated, and required for every module.

use serde::Serialize;
use std::collections::BTreeMap;

use serde_json::json;

use super::{CanonicalProfile, FailureMode, Preset, PresetError, ProfileSeverity, canonical, generate};
use crate::settings::PresetMode;

/// Origin of a preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PresetOrigin {
    /// A file or a variable.
    Given,
    /// Generated from the seed.
    Generated,
    /// A canonical profile.
    Canonical,
    /// The baseline, which applies no stress.
    Baseline,
    /// Added so that every module is run under it.
    Coverage,
    /// Added because of a word in the path of a module.
    Keyword,
}

/// A preset of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectedPreset {
    /// The preset.
    pub preset: Preset,
    /// Its origin.
    pub origin: PresetOrigin,
    /// Paths of the modules that it applies to; `None` for all modules.
    pub modules: Option<Vec<String>>,
}

/// Options of the selection.
#[derive(Debug, Clone)]
pub struct PresetSelection {
    /// Presets given by the user.
    pub given: Vec<Preset>,
    /// Whether presets are generated when none are given.
    pub generate: bool,
    /// How they are generated.
    pub mode: PresetMode,
    /// Number of randomly generated presets.
    pub count: usize,
    /// Profiles by keyword in the path of a module.
    pub keywords: BTreeMap<String, Vec<CanonicalProfile>>,
    /// Only the baseline is added to the given or generated presets.
    pub only_these: bool,
}

/// Default keywords in module paths, with the profiles that such modules are run under at high severity.
pub fn default_keywords() -> BTreeMap<String, Vec<CanonicalProfile>> {
    let table: [(&str, &[CanonicalProfile]); 9] = [
        ("api", &[CanonicalProfile::HighLatencyApi, CanonicalProfile::FlakyUpstream]),
        ("auth", &[CanonicalProfile::UserMisuse, CanonicalProfile::HostileInput]),
        ("cache", &[CanonicalProfile::ConcurrencySpike]),
        ("client", &[CanonicalProfile::HighLatencyApi, CanonicalProfile::FlakyUpstream]),
        ("concurrency", &[CanonicalProfile::ConcurrencySpike]),
        ("database", &[CanonicalProfile::HighLatencyApi, CanonicalProfile::ConcurrencySpike]),
        ("parser", &[CanonicalProfile::HostileInput]),
        ("queue", &[CanonicalProfile::ConcurrencySpike]),
        ("schema", &[CanonicalProfile::SchemaDrift]),
    ];
    table.into_iter().map(|(word, profiles)| (word.to_owned(), profiles.to_vec())).collect()
}

/// The `keyword_profiles` of `sandbox_settings.yaml`, merged over the defaults.
pub fn keywords(
    own: &serde_json::Map<String, serde_json::Value>,
) -> Result<BTreeMap<String, Vec<CanonicalProfile>>, PresetError> {
    let mut all = default_keywords();
    for (word, profiles) in own {
        let names = match profiles {
            serde_json::Value::String(name) => vec![name.clone()],
            serde_json::Value::Array(names) => names
                .iter()
                .map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned))
                .collect(),
            other => return Err(PresetError::unknown_profile(&other.to_string())),
        };
        let profiles = names
            .iter()
            .map(|name| CanonicalProfile::of_name(name).ok_or_else(|| PresetError::unknown_profile(name)))
            .collect::<Result<_, _>>()?;
        all.insert(word.to_lowercase(), profiles);
    }
    Ok(all)
}

/// Selects the presets of a run over these modules. `number` is the source of randomness: it returns a number below its
/// argument.
pub fn choose(
    choice: &PresetSelection,
    modules: &[String],
    number: impl FnMut(usize) -> usize,
) -> Vec<SelectedPreset> {
    let for_all = |origin| move |preset| SelectedPreset { preset, origin, modules: None };
    let mut chosen: Vec<SelectedPreset> = if !choice.given.is_empty() {
        choice.given.iter().cloned().map(for_all(PresetOrigin::Given)).collect()
    } else if !choice.generate {
        Vec::new()
    } else {
        match choice.mode {
            PresetMode::Canonical => both_severities().map(for_all(PresetOrigin::Canonical)).collect(),
            PresetMode::Random => {
                generate(choice.count, number).into_iter().map(for_all(PresetOrigin::Generated)).collect()
            }
        }
    };
    let has_baseline = chosen.iter().any(|one| one.preset.is_baseline());
    let mut all = Vec::new();
    if !has_baseline {
        all.push(for_all(PresetOrigin::Baseline)(Preset::named("normal")));
    }
    // The baseline comes first.
    chosen.sort_by_key(|one| !one.preset.is_baseline());
    all.append(&mut chosen);
    if choice.only_these {
        return all;
    }
    let covered = all.iter().flat_map(|one| one.preset.failure_modes()).collect::<Vec<_>>();
    // Given presets are completed by the four required profiles; without given presets, every kind of stress is added.
    let missing: Vec<Preset> = if choice.given.is_empty() && choice.generate {
        everything()
    } else {
        CanonicalProfile::COVERED.map(|profile| canonical(profile, ProfileSeverity::Low)).to_vec()
    };
    for preset in missing {
        if preset.failure_modes().iter().any(|mode| !covered.contains(mode)) {
            all.push(for_all(PresetOrigin::Coverage)(preset));
        }
    }
    all.extend(by_keyword(&choice.keywords, modules));
    all
}

fn both_severities() -> impl Iterator<Item = Preset> {
    CanonicalProfile::ALL
        .into_iter()
        .flat_map(|profile| ProfileSeverity::ALL.map(|severity| canonical(profile, severity)))
}

/// One preset of each kind of stress: the canonical profiles at low severity, and a starved machine.
fn everything() -> Vec<Preset> {
    let strain = |mode: FailureMode, key: &'static str, value: serde_json::Value| {
        Preset::of([
            ("SCENARIO_NAME", json!(mode.name())),
            ("FAILURE_MODES", json!([mode.name()])),
            (key, value),
        ])
    };
    let mut all: Vec<Preset> =
        CanonicalProfile::ALL.into_iter().map(|profile| canonical(profile, ProfileSeverity::Low)).collect();
    all.push(strain(FailureMode::ResourceStrain, "CPU_LIMIT", json!("0.2")));
    all.push(strain(FailureMode::Memory, "MEMORY_LIMIT", json!("64Mi")));
    all.push(strain(FailureMode::Disk, "DISK_LIMIT", json!("1Mi")));
    all.push(strain(FailureMode::Timeout, "TIMEOUT", json!(0.5)));
    all
}

/// The profiles of keywords found in module paths, at high severity.
fn by_keyword(keywords: &BTreeMap<String, Vec<CanonicalProfile>>, modules: &[String]) -> Vec<SelectedPreset> {
    let mut found: BTreeMap<CanonicalProfile, Vec<String>> = BTreeMap::new();
    for module in modules {
        let path = module.to_lowercase();
        let words = keywords.iter().filter(|(word, _)| path.contains(word.as_str()));
        for profile in words.flat_map(|(_, profiles)| profiles) {
            let of_profile = found.entry(*profile).or_default();
            if of_profile.last() != Some(module) {
                of_profile.push(module.clone());
            }
        }
    }
    found
        .into_iter()
        .map(|(profile, modules)| SelectedPreset {
            preset: canonical(profile, ProfileSeverity::High),
            origin: PresetOrigin::Keyword,
            modules: Some(modules),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorDetails;

    fn choice() -> PresetSelection {
        PresetSelection {
            given: Vec::new(),
            generate: true,
            mode: PresetMode::Random,
            count: 2,
            keywords: BTreeMap::new(),
            only_these: false,
        }
    }

    fn names(choice: &PresetSelection) -> Vec<String> {
        choose(choice, &[], |_| 0).iter().map(|one| one.preset.name().to_owned()).collect()
    }

    #[test]
    fn without_given_presets_every_kind_of_stress_is_selected() {
        let names = names(&choice());
        assert_eq!(names[..3], ["normal", "generated_1", "generated_2"]);
        for name in ["hostile_input", "user_misuse", "concurrency_spike", "schema_drift", "memory", "disk"] {
            assert!(names.iter().any(|known| known == name), "{name} is not in {names:?}");
        }
    }

    #[test]
    fn given_presets_are_completed_by_the_baseline_and_the_four_profiles() {
        let given = vec![canonical(CanonicalProfile::HostileInput, ProfileSeverity::High)];
        let names = names(&PresetSelection { given, ..choice() });
        assert_eq!(
            names,
            ["normal", "hostile_input", "high_latency_api", "user_misuse", "concurrency_spike"]
        );
    }

    #[test]
    fn only_these_adds_nothing_but_the_baseline() {
        let given = vec![canonical(CanonicalProfile::HostileInput, ProfileSeverity::High)];
        assert_eq!(
            names(&PresetSelection { given, only_these: true, ..choice() }),
            ["normal", "hostile_input"]
        );
    }

    #[test]
    fn without_generation_there_are_the_baseline_and_the_four_profiles() {
        let names = names(&PresetSelection { generate: false, ..choice() });
        assert_eq!(
            names,
            ["normal", "high_latency_api", "hostile_input", "user_misuse", "concurrency_spike"]
        );
    }

    #[test]
    fn canonical_mode_has_both_severities() {
        let chosen = choose(&PresetSelection { mode: PresetMode::Canonical, ..choice() }, &[], |_| 0);
        let hostile = chosen.iter().filter(|one| one.preset.name() == "hostile_input").count();
        assert_eq!(hostile, 2);
    }

    #[test]
    fn a_keyword_in_a_module_path_adds_its_profiles_for_that_module() {
        let own = json!({"cart": ["user_misuse"], "parser": "schema_drift"});
        let keywords = keywords(own.as_object().unwrap()).unwrap();
        let modules = ["shop/cart.py".to_owned(), "shop/csv_parser.py".to_owned(), "shop/tax.py".to_owned()];
        let chosen = choose(&PresetSelection { keywords, ..choice() }, &modules, |_| 0);
        let added: Vec<(&str, Option<&[String]>)> = chosen
            .iter()
            .filter(|one| one.origin == PresetOrigin::Keyword)
            .map(|one| (one.preset.name(), one.modules.as_deref()))
            .collect();
        assert_eq!(added, [("user_misuse", Some(&modules[..1])), ("schema_drift", Some(&modules[1..2]))]);
        let wrong = json!({"cart": ["user_missuse"]});
        let error = super::keywords(wrong.as_object().unwrap()).unwrap_err();
        assert!(error.hint().is_some_and(|hint| hint.contains("user_misuse")), "{error}");
    }
}
