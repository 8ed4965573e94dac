//! What is done to presets once it is known what a trend calls for.

use std::fmt;

use menace_model::presets::Preset;
use serde::Serialize;
use serde_json::Value;

use super::heuristics::Heuristics;
use super::keys::{KEYS, Key, moved};
use super::trend::Trend;

/// Somebody who decides what a trend calls for.
pub trait Adapt {
    /// What it calls for.
    fn moves(&mut self, trend: &Trend) -> Moves;
}

/// How far something is moved from what a preset says, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Move {
    /// Notches: more is more room for calls, or more threats to them.
    pub notches: i32,
    /// With the figures.
    pub why: String,
}

/// What a trend calls for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moves {
    /// CPU, memory and bandwidth.
    pub resources: Move,
    /// Latency and bandwidth.
    pub network: Move,
    /// Hostile and wrong calls.
    pub threats: Move,
    /// Whether the trend said enough to decide anything, be it to leave everything as it is.
    pub is_decided: bool,
}

/// A value that is no longer what the preset said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// The name of the preset.
    pub preset: String,
    /// The key.
    pub key: &'static str,
    /// What it said.
    pub before: Value,
    /// What it says now.
    pub after: Value,
    /// With the figures.
    pub why: String,
}

impl fmt::Display for Decision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = (plain(&self.before), plain(&self.after));
        write!(formatter, "{} {} {before} → {after}: {}", self.preset, self.key, self.why)
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What calls can have at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// Its cores.
    pub cpus: f64,
    /// Its memory, in bytes.
    pub memory: f64,
}

/// Presets for the next cycle.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapted {
    /// As many as there were, in their order.
    pub presets: Vec<Preset>,
    /// What is different.
    pub decisions: Vec<Decision>,
    /// What was seen, also if nothing is different.
    pub seen: Vec<String>,
    /// Whether the trend said enough to decide anything.
    pub is_decided: bool,
}

/// Adapts presets by rules.
pub fn adapt(presets: Vec<Preset>, trend: &Trend, machine: &Machine) -> Adapted {
    adapt_by(&mut Heuristics, presets, trend, machine)
}

/// Adapts presets as somebody decides. What others are compared with stays as it is, and so does what a preset does not say.
pub fn adapt_by(decider: &mut dyn Adapt, presets: Vec<Preset>, trend: &Trend, machine: &Machine) -> Adapted {
    let moves = decider.moves(trend);
    let mut decisions = Vec::new();
    let presets =
        presets.into_iter().map(|preset| changed(preset, &moves, machine, &mut decisions)).collect();
    let mut seen: Vec<String> = [&moves.resources, &moves.network, &moves.threats]
        .into_iter()
        .map(|one| one.why.clone())
        .filter(|why| !why.is_empty())
        .collect();
    seen.extend(trend.remark());
    seen.dedup();
    Adapted { presets, decisions, seen, is_decided: moves.is_decided }
}

fn changed(preset: Preset, moves: &Moves, machine: &Machine, decisions: &mut Vec<Decision>) -> Preset {
    if preset.is_baseline() {
        return preset;
    }
    let made: Vec<Decision> = KEYS.iter().filter_map(|key| decided(&preset, key, moves, machine)).collect();
    let mut values = preset.values().clone();
    for decision in &made {
        values.insert(decision.key.to_owned(), decision.after.clone());
    }
    // What is no preset any more would be our mistake, and must not end a loop.
    let Ok(changed) = Preset::new(values) else { return preset };
    decisions.extend(made);
    changed
}

fn decided(preset: &Preset, key: &Key, moves: &Moves, machine: &Machine) -> Option<Decision> {
    let reasons: Vec<&Move> = key.reasons(moves).into_iter().filter(|one| one.notches != 0).collect();
    let notches = reasons.iter().map(|one| one.notches).sum();
    let after = moved(preset, key, notches, machine)?;
    let why: Vec<&str> = reasons.iter().map(|one| one.why.as_str()).collect();
    Some(Decision {
        preset: preset.name().to_owned(),
        key: key.name,
        before: preset.values().get(key.name)?.clone(),
        after,
        why: why.join("; "),
    })
}
