//! Job of one container: a preset whose CPU and memory limits the container enforces, and menace in it the rest.

use std::time::Duration;

use menace_model::presets::{FailureMode, Preset, PresetError};
use menace_runner::{CallsPerCell, StressProfile};
use serde_json::{Map, Value};

use crate::calling::RunSettings;

/// Memory that menace and its warm interpreters need: with 128 MiB the kernel killed menace while it called
/// examples/shop, with 192 MiB it did not.
pub(super) const LEAST_MEMORY: u64 = 192 << 20;

/// Directory of menace and its files in the container.
pub(super) const CONTAINER_DIRECTORY: &str = "/tmp/menace";

/// Failure modes that limit CPU or memory, which the container enforces.
const CONTAINER_MODES: [FailureMode; 5] = [
    FailureMode::ResourceStrain,
    FailureMode::IoCpuStrain,
    FailureMode::Cpu,
    FailureMode::CpuSpike,
    FailureMode::Memory,
];

/// A preset and the command line of menace for it.
#[derive(Debug, Clone)]
pub(super) struct PresetContainerJob {
    pub(super) preset: Preset,
    /// The preset for menace in the container, without the limits that the container enforces.
    pub(super) inner_preset: Map<String, Value>,
    /// CPU limit of the container.
    pub(super) cpus: Option<f64>,
    /// Memory limit of the container.
    pub(super) memory: Option<u64>,
    arguments: Vec<String>,
    /// Name of the baseline preset of the run.
    baseline: String,
}

/// The jobs of a run. A preset for some modules only is run once, for all modules.
pub(super) fn jobs(
    settings: &RunSettings,
    python: Option<&str>,
) -> Result<Vec<PresetContainerJob>, PresetError> {
    let mut presets: Vec<Preset> = Vec::new();
    for stored in &settings.presets {
        let preset = stored.preset()?;
        if !presets.contains(&preset) {
            presets.push(preset);
        }
    }
    let baseline =
        presets.iter().find(|preset| preset.is_baseline()).map_or("normal", Preset::name).to_owned();
    let arguments = arguments(settings, python);
    Ok(presets
        .into_iter()
        .map(|preset| PresetContainerJob::of(preset, arguments.clone(), baseline.clone()))
        .collect())
}

impl PresetContainerJob {
    fn of(preset: Preset, arguments: Vec<String>, baseline: String) -> Self {
        let limits = StressProfile::of(&preset, CallsPerCell::default()).limits;
        let inner_preset = without_limits(&preset);
        Self { inner_preset, cpus: limits.cpus, memory: limits.memory, preset, arguments, baseline }
    }

    /// Command that runs in the container.
    pub(super) fn command(&self) -> Vec<String> {
        let fixed = [
            &format!("{CONTAINER_DIRECTORY}/menace"),
            "run",
            "/workspace",
            "--no-cache",
            "--json",
            "--only-these-presets",
            "--data-dir",
            &format!("{CONTAINER_DIRECTORY}/data"),
            "--preset-file",
            &format!("{CONTAINER_DIRECTORY}/preset.json"),
        ];
        fixed.into_iter().map(str::to_owned).chain(self.arguments.iter().cloned()).collect()
    }

    /// Display name of the preset.
    pub(super) fn title(&self) -> String {
        let name = self.preset.name();
        self.preset
            .text("SEVERITY")
            .map_or_else(|| name.to_owned(), |severity| format!("{name} ({severity})"))
    }

    /// Directory name of the preset.
    pub(super) fn file_name(&self) -> String {
        let plain = |one: char| if one.is_ascii_alphanumeric() || one == '-' { one } else { '_' };
        self.title().chars().map(plain).take(64).collect()
    }

    /// Scenario that the preset is compared with; `None` for the baseline itself.
    pub(super) fn compared_with(&self) -> Option<&str> {
        (!self.preset.is_baseline()).then_some(self.baseline.as_str())
    }

    /// Reason why the preset cannot be measured in a container.
    pub(super) fn void_reason(&self) -> Option<String> {
        let memory = self.memory.filter(|memory| *memory < LEAST_MEMORY)?;
        Some(format!(
            "menace needs {} MiB in the container, but the preset allows {} MiB; without SANDBOX_DOCKER each call has \
             its own limit",
            LEAST_MEMORY >> 20,
            memory >> 20
        ))
    }
}

fn arguments(settings: &RunSettings, python: Option<&str>) -> Vec<String> {
    let timeout = Duration::from_millis(settings.timeout_ms);
    let mut all = vec!["--seed".to_owned(), settings.seed.to_string()];
    all.extend(["--timeout".to_owned(), format!("{}ms", timeout.as_millis())]);
    for (name, values) in [("--modules", &settings.modules), ("--exclude", &settings.exclude)] {
        all.extend(values.iter().flat_map(|value| [name.to_owned(), value.clone()]));
    }
    all.extend(python.into_iter().flat_map(|python| ["--python".to_owned(), python.to_owned()]));
    all
}

/// A preset without the limits that the container enforces.
fn without_limits(preset: &Preset) -> Map<String, Value> {
    let mut values = preset.values().clone();
    values.remove("CPU_LIMIT");
    values.remove("MEMORY_LIMIT");
    let modes: Vec<Value> = preset
        .failure_modes()
        .into_iter()
        .filter(|mode| !CONTAINER_MODES.contains(mode))
        .map(|mode| Value::from(mode.name()))
        .collect();
    if modes.is_empty() {
        values.remove("FAILURE_MODES");
    } else {
        values.insert("FAILURE_MODES".to_owned(), Value::Array(modes));
    }
    // Without its failure mode, the preset would lose the scenario name that derives from it.
    values.insert("SCENARIO_NAME".to_owned(), Value::from(preset.name()));
    values
}

#[cfg(test)]
mod tests {
    use menace_model::presets::read;

    use super::*;

    fn job(text: &str) -> PresetContainerJob {
        let preset = read(text).unwrap().remove(0);
        PresetContainerJob::of(preset, vec!["--seed".into(), "7".into()], "normal".into())
    }

    #[test]
    fn the_container_enforces_cpu_and_memory_limits_and_menace_the_rest() {
        let made = job(
            r#"{"FAILURE_MODES": "memory,hostile_input", "MEMORY_LIMIT": "512m", "CPU_LIMIT": "0.5", "DISK_LIMIT": "1Mi"}"#,
        );
        assert_eq!((made.cpus, made.memory), (Some(0.5), Some(512 << 20)));
        assert_eq!(made.inner_preset.get("DISK_LIMIT"), Some(&Value::from("1Mi")));
        assert_eq!(made.inner_preset["FAILURE_MODES"], serde_json::json!(["hostile_input"]));
        assert!(
            !made.inner_preset.contains_key("MEMORY_LIMIT") && !made.inner_preset.contains_key("CPU_LIMIT")
        );
        assert_eq!(made.void_reason(), None);
        assert_eq!(made.compared_with(), Some("normal"));
        assert!(made.command().ends_with(&["--seed".to_owned(), "7".to_owned()]));
    }

    #[test]
    fn a_failure_mode_becomes_a_limit_of_the_container() {
        let made = job(r#"{"FAILURE_MODES": ["memory"]}"#);
        assert_eq!(made.inner_preset["SCENARIO_NAME"], "memory");
        let reason = made.void_reason().unwrap();
        assert!(reason.contains("192 MiB") && reason.contains("allows 64"), "{reason}");
        assert!(job(r#"{"FAILURE_MODES": ["cpu"]}"#).cpus.is_some_and(|cpus| cpus < 1.0));
        assert_eq!(job(r#"{"SCENARIO_NAME": "normal"}"#).compared_with(), None);
    }

    #[test]
    fn a_preset_name_is_not_used_as_a_path() {
        assert_eq!(job(r#"{"SCENARIO_NAME": "../a b"}"#).file_name(), "___a_b");
    }
}
