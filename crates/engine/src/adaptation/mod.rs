//! Adaptation of presets to the metrics of earlier cycles, by fixed rules or by a policy that learns. Nothing here reads a
//! clock, and every random choice derives from the seed: the same history leads to the same presets.

mod adapter;
mod heuristics;
mod policy;
mod policy_file;
mod preset_keys;
mod trend;

#[cfg(test)]
mod adaptation_tests;

pub use adapter::{
    AdaptedPresets, AspectAdjustment, CycleAdjustments, MachineResources, PresetAdapter, PresetKeyChange,
    adapt, adapt_by,
};
pub use heuristics::HeuristicAdapter;
pub use policy::{AdaptationPolicy, AdjustmentDirection, PolicyAction, TrendState};
pub use policy_file::{AdaptationPolicyError, LearningStrategy};
pub use trend::{MetricTrend, StallThresholds, SynergySign, TrendAssessment, TrendDirection, TrendUnknown};
