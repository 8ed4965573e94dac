//! What runs are worth: from their reports to histories, forecasts and what is complete.

mod bucket;
mod completion;
mod cycle;
mod energy;
mod files;
mod forecasts;
mod observed;
mod plugins;
mod report;
mod resources;
mod rules;
mod seen;

pub(crate) use bucket::micropilot_decision;
pub(crate) use completion::CycleThresholds;
pub(crate) use cycle::{CycleTracker, synergy_rests};
pub(crate) use energy::EnergyMeter;
pub(crate) use files::{append_line, load_history, lock, read_history_or_empty, with_history};
pub(crate) use forecasts::forecast_of;
pub(crate) use plugins::MetricsFile;
pub(crate) use report::{CycleModuleRow, CycleReport};
pub(crate) use rules::RoiScoringRules;
