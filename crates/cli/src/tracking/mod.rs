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

pub(crate) use bucket::decided;
pub(crate) use completion::Thresholds;
pub(crate) use cycle::{Tracker, synergy_rests};
pub(crate) use energy::EnergyMeter;
pub(crate) use files::{append_line, load_history, lock, peek, with_history};
pub(crate) use forecasts::forecast_of;
pub(crate) use plugins::MetricsFile;
pub(crate) use report::{CycleReport, ModuleRow};
pub(crate) use rules::Rules;
