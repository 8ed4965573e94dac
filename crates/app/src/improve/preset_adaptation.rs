//! Presets of a cycle: as selected, or adapted to the measurements of earlier cycles.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use menace_engine::adaptation::{
    AdaptationPolicy, AdaptedPresets, LearningStrategy, MachineResources, MetricTrend, StallThresholds,
    adapt, adapt_by,
};
use menace_model::ids::RunId;
use menace_model::presets::{Preset, PresetError};
use menace_store::Store;
use menace_tracker::history::RoiHistory;

use super::AutoRequest;
use super::run_state::{AutoRunState, StartedCycle};
use crate::calling::{RunSettings, StoredPreset};
use crate::error::FileContext;
use crate::text::count;
use crate::tracking::{CycleThresholds, lock, read_history_or_empty};
use crate::{AppContext, AppError, AppEvent};

/// Origin of the presets of a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CyclePresetOrigin {
    /// A preset file, which is never adapted.
    StaticFile,
    /// Adapted by rules to the history.
    History,
    /// Adapted by a learned policy.
    Policy,
    /// Selected without adaptation.
    Chosen,
}

impl fmt::Display for CyclePresetOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::StaticFile => "static file",
            Self::History => "adapted to the history",
            Self::Policy => "policy",
            Self::Chosen => "chosen",
        })
    }
}

/// Settings of a started cycle. A resumed cycle keeps them, even if the history has changed since.
pub(super) async fn settings_of_started_cycle(
    context: &AppContext,
    store: &Store,
    begun: Option<&StartedCycle>,
) -> Result<Option<RunSettings>, AppError> {
    let Some(begun) = begun else { return Ok(None) };
    context.emit(AppEvent::PresetsReused { origin: begun.presets.clone() });
    let options = store.run(&begun.run).await?.options;
    let settings: RunSettings = serde_json::from_value(options)
        .map_err(|source| AppError::StoredRun { run: begun.run.to_string(), source })?;
    Ok(Some(settings))
}

/// Adapts the presets of a cycle, reports it, and returns their origin.
pub(super) fn adapt_presets(
    context: &AppContext,
    request: &AutoRequest,
    progress: &AutoRunState,
    (run, number): (&RunId, usize),
    settings: &mut RunSettings,
) -> Result<CyclePresetOrigin, AppError> {
    let written = &context.settings().presets;
    LearningStrategy::of_name(written.preset_rl_strategy.as_deref())?;
    let method = if !progress.preset_file.is_empty() {
        PresetAdaptationMethod::StaticFile
    } else if written.env_presets.is_some() {
        PresetAdaptationMethod::Written
    } else {
        match &written.preset_rl_path {
            Some(path) => PresetAdaptationMethod::Policy { path, seed: progress.seed, number },
            None => PresetAdaptationMethod::Rules,
        }
    };
    let repository = progress.repository.display().to_string();
    let history = read_history_or_empty(&context.data_directory(), &repository);
    let presets: Result<Vec<Preset>, PresetError> =
        settings.presets.iter().map(StoredPreset::preset).collect();
    let (origin, made) = adapt_with(&method, presets?, &trend(context, &history))?;
    for (stored, preset) in settings.presets.iter_mut().zip(&made.presets) {
        stored.set_preset(preset);
    }
    let cycle = number + 1;
    context.emit(AppEvent::PresetsAdapted {
        cycle,
        origin: origin.to_string(),
        changed: made.decisions.len(),
        observations: made.seen.clone(),
    });
    let lines = decision_lines(run, cycle, origin, &made);
    if let Some(path) = &request.adaptation_log {
        append(path, &lines)?;
    } else if written.preset_debug {
        for line in &lines {
            context.emit(AppEvent::PresetAdaptationDetail { line: line.clone() });
        }
    }
    Ok(origin)
}

/// Method of adaptation.
enum PresetAdaptationMethod<'a> {
    /// No adaptation: presets from a file.
    StaticFile,
    /// No adaptation: presets from `SANDBOX_ENV_PRESETS`.
    Written,
    Rules,
    Policy {
        path: &'a Path,
        seed: u64,
        number: usize,
    },
}

fn adapt_with(
    method: &PresetAdaptationMethod<'_>,
    presets: Vec<Preset>,
    trend: &MetricTrend,
) -> Result<(CyclePresetOrigin, AdaptedPresets), AppError> {
    let unchanged = |presets, why: &str| AdaptedPresets {
        presets,
        decisions: Vec::new(),
        seen: vec![why.to_owned()],
        is_decided: false,
    };
    Ok(match method {
        PresetAdaptationMethod::StaticFile => {
            (CyclePresetOrigin::StaticFile, unchanged(presets, "presets from a file are not adapted"))
        }
        PresetAdaptationMethod::Written => (
            CyclePresetOrigin::Chosen,
            unchanged(presets, "presets from SANDBOX_ENV_PRESETS are not adapted"),
        ),
        PresetAdaptationMethod::Rules => {
            let made = adapt(presets, trend, &machine());
            (
                if made.decisions.is_empty() {
                    CyclePresetOrigin::Chosen
                } else {
                    CyclePresetOrigin::History
                },
                made,
            )
        }
        PresetAdaptationMethod::Policy { path, seed, number } => {
            let made = by_policy(path, *seed, *number, presets, trend)?;
            (if made.is_decided { CyclePresetOrigin::Policy } else { CyclePresetOrigin::Chosen }, made)
        }
    })
}

/// Adapts by the policy, under its file lock, so that concurrent runs do not lose updates.
fn by_policy(
    path: &Path,
    seed: u64,
    number: usize,
    presets: Vec<Preset>,
    trend: &MetricTrend,
) -> Result<AdaptedPresets, AppError> {
    let _lock = lock(path)?;
    let mut policy = AdaptationPolicy::read(path, seed, number)?;
    let made = adapt_by(&mut policy, presets, trend, &machine());
    policy.write(path)?;
    Ok(made)
}

/// Resources of this machine; one CPU if their number is unknown.
fn machine() -> MachineResources {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let system = rustix::system::sysinfo();
    let memory = system.totalram * u64::from(system.mem_unit);
    MachineResources { cpus: cores as f64, memory: memory as f64 }
}

/// Trend of the metrics, with the thresholds of this repository.
fn trend(context: &AppContext, history: &RoiHistory) -> MetricTrend {
    let thresholds = CycleThresholds::of(context, history);
    MetricTrend {
        roi: history.series("roi"),
        synergy_roi: history.series("synergy_roi").last().copied(),
        safety: history.series("safety_rating"),
        little: StallThresholds {
            roi: thresholds.roi,
            synergy: thresholds.synergy,
            cycles: context.settings().roi.roi_cycles as usize,
        },
    }
}

fn line(origin: CyclePresetOrigin, made: &AdaptedPresets) -> String {
    let how_many = match made.decisions.len() {
        0 => String::new(),
        values => format!(", {} changed", count(values, "value")),
    };
    format!("{origin}{how_many} ({})", made.seen.join("; "))
}

/// Log lines of an adaptation: the observations, and each decision.
fn decision_lines(
    run: &RunId,
    cycle: usize,
    origin: CyclePresetOrigin,
    made: &AdaptedPresets,
) -> Vec<String> {
    let mut lines = vec![format!("{run} cycle {cycle}: {}", line(origin, made))];
    lines.extend(made.decisions.iter().map(|decision| format!("{run} cycle {cycle}: {decision}")));
    lines
}

/// Appends lines to a file.
fn append(path: &Path, lines: &[String]) -> Result<(), AppError> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).file("create", parent)?;
    }
    let opened = File::options().create(true).append(true).open(path);
    opened.and_then(|mut file| file.write_all((lines.join("\n") + "\n").as_bytes())).file("write", path)
}

#[cfg(test)]
mod tests {
    use menace_engine::adaptation::AdaptationPolicyError;
    use menace_model::presets::read;

    use super::*;

    fn presets() -> Vec<Preset> {
        let text = r#"[{"SCENARIO_NAME": "normal"}, {"SCENARIO_NAME": "a", "MEMORY_LIMIT": "256Mi"}]"#;
        read(text).unwrap()
    }

    fn trend(roi: &[f64]) -> MetricTrend {
        let little = StallThresholds { roi: 0.01, synergy: 0.01, cycles: 3 };
        MetricTrend { roi: roi.to_vec(), synergy_roi: None, safety: Vec::new(), little }
    }

    #[test]
    fn given_presets_are_never_adapted_and_others_only_after_a_stall() {
        for (method, roi, origin, memory) in [
            (PresetAdaptationMethod::StaticFile, &[0.5; 4][..], "static file", "256Mi"),
            (PresetAdaptationMethod::Written, &[0.5; 4], "chosen", "256Mi"),
            (PresetAdaptationMethod::Rules, &[0.5; 4], "adapted to the history", "512Mi"),
            (PresetAdaptationMethod::Rules, &[0.5, 0.4, 0.2, 0.1], "chosen", "256Mi"),
            (PresetAdaptationMethod::Rules, &[0.5], "chosen", "256Mi"),
        ] {
            let (found, made) = adapt_with(&method, presets(), &trend(roi)).unwrap();
            assert_eq!(found.to_string(), origin, "{roi:?}");
            assert_eq!(made.presets[1].text("MEMORY_LIMIT"), Some(memory), "{origin}");
            assert!(!made.seen.is_empty() && line(found, &made).contains(origin));
        }
    }

    #[test]
    fn a_policy_learns_across_runs_and_never_overwrites_another_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("policies/preset.json");
        let method = |number| PresetAdaptationMethod::Policy { path: &path, seed: 0, number };
        assert_eq!(adapt_with(&method(0), presets(), &trend(&[0.5])).unwrap().0, CyclePresetOrigin::Chosen);
        let first = adapt_with(&method(1), presets(), &trend(&[0.5; 4])).unwrap();
        let again = adapt_with(&method(1), presets(), &trend(&[0.5; 4])).unwrap();
        assert_eq!(first, again, "the same cycle gets the same decision again");
        assert_eq!(first.0, CyclePresetOrigin::Policy);
        adapt_with(&method(2), presets(), &trend(&[0.5, 0.5, 0.5, 0.5, 0.9])).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"count\": 1"), "{text}");
        std::fs::write(&path, "not a policy").unwrap();
        let error = adapt_with(&method(3), presets(), &trend(&[0.5; 6])).unwrap_err();
        assert!(matches!(error, AppError::Policy(AdaptationPolicyError::Foreign { .. })), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "not a policy");
    }

    #[test]
    fn the_log_is_appended_to() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("logs/preset_debug.log");
        let (origin, made) =
            adapt_with(&PresetAdaptationMethod::Rules, presets(), &trend(&[0.5; 4])).unwrap();
        let run = crate::measure::new_id();
        for cycle in [4, 5] {
            append(&path, &decision_lines(&run, cycle, origin, &made)).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[1].starts_with(&format!("{run} cycle 4: a MEMORY_LIMIT 256Mi → 512Mi: ")), "{text}");
        assert!(lines[2].contains("cycle 5: adapted to the history, 1 value changed"), "{text}");
    }
}
