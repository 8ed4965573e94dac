//! Application of adjustments to presets.

use std::fmt;

use menace_model::presets::Preset;
use serde::Serialize;
use serde_json::Value;

use super::heuristics::HeuristicAdapter;
use super::preset_keys::{AdaptedKey, KEYS, adjusted_value};
use super::trend::MetricTrend;

/// A source of adjustments: fixed rules, or a learned policy.
pub trait PresetAdapter {
    /// Adjustments for the next cycle.
    fn moves(&mut self, trend: &MetricTrend) -> CycleAdjustments;
}

/// Distance of an aspect from the value in the preset, with the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AspectAdjustment {
    /// Number of notches; positive means looser limits for calls, or more threats.
    pub notches: i32,
    /// Reason, with the measured values.
    pub why: String,
}

/// Adjustments for the next cycle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CycleAdjustments {
    /// CPU, memory and bandwidth.
    pub resources: AspectAdjustment,
    /// Latency and bandwidth.
    pub network: AspectAdjustment,
    /// Hostile and misuse calls.
    pub threats: AspectAdjustment,
    /// Whether the history was sufficient for a decision, including the decision to change nothing.
    pub is_decided: bool,
}

/// Change of one preset value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PresetKeyChange {
    /// Name of the preset.
    pub preset: String,
    /// Key of the value.
    pub key: &'static str,
    /// Value in the preset.
    pub before: Value,
    /// Adapted value.
    pub after: Value,
    /// Reason, with the measured values.
    pub why: String,
}

impl fmt::Display for PresetKeyChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = (display_value(&self.before), display_value(&self.after));
        write!(formatter, "{} {} {before} → {after}: {}", self.preset, self.key, self.why)
    }
}

fn display_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Resources of this machine, an upper bound for the limits of calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineResources {
    /// Number of cores.
    pub cpus: f64,
    /// Memory in bytes.
    pub memory: f64,
}

/// Presets for the next cycle.
#[derive(Debug, Clone, PartialEq)]
pub struct AdaptedPresets {
    /// All presets, in their original order.
    pub presets: Vec<Preset>,
    /// Values that were changed.
    pub decisions: Vec<PresetKeyChange>,
    /// Observations about the history, also if nothing was changed.
    pub seen: Vec<String>,
    /// Whether the history was sufficient for a decision.
    pub is_decided: bool,
}

/// Adapts presets with the fixed rules.
pub fn adapt(presets: Vec<Preset>, trend: &MetricTrend, machine: &MachineResources) -> AdaptedPresets {
    adapt_by(&mut HeuristicAdapter, presets, trend, machine)
}

/// Adapts presets with the adjustments of `decider`. The baseline preset and keys that a preset does not set stay unchanged.
pub fn adapt_by(
    decider: &mut dyn PresetAdapter,
    presets: Vec<Preset>,
    trend: &MetricTrend,
    machine: &MachineResources,
) -> AdaptedPresets {
    let moves = decider.moves(trend);
    let mut decisions = Vec::new();
    let presets =
        presets.into_iter().map(|preset| adapt_preset(preset, &moves, machine, &mut decisions)).collect();
    let mut seen: Vec<String> = [&moves.resources, &moves.network, &moves.threats]
        .into_iter()
        .map(|one| one.why.clone())
        .filter(|why| !why.is_empty())
        .collect();
    seen.extend(trend.remark());
    seen.dedup();
    AdaptedPresets { presets, decisions, seen, is_decided: moves.is_decided }
}

fn adapt_preset(
    preset: Preset,
    moves: &CycleAdjustments,
    machine: &MachineResources,
    decisions: &mut Vec<PresetKeyChange>,
) -> Preset {
    if preset.is_baseline() {
        return preset;
    }
    let made: Vec<PresetKeyChange> =
        KEYS.iter().filter_map(|key| decide(&preset, key, moves, machine)).collect();
    let mut values = preset.values().clone();
    for decision in &made {
        values.insert(decision.key.to_owned(), decision.after.clone());
    }
    // An invalid result would be a bug of menace and must not end the run.
    let Ok(adapted) = Preset::new(values) else { return preset };
    decisions.extend(made);
    adapted
}

fn decide(
    preset: &Preset,
    key: &AdaptedKey,
    moves: &CycleAdjustments,
    machine: &MachineResources,
) -> Option<PresetKeyChange> {
    let reasons: Vec<&AspectAdjustment> =
        key.reasons(moves).into_iter().filter(|one| one.notches != 0).collect();
    let notches = reasons.iter().map(|one| one.notches).sum();
    let after = adjusted_value(preset, key, notches, machine)?;
    let why: Vec<&str> = reasons.iter().map(|one| one.why.as_str()).collect();
    Some(PresetKeyChange {
        preset: preset.name().to_owned(),
        key: key.name,
        before: preset.values().get(key.name)?.clone(),
        after,
        why: why.join("; "),
    })
}
