//! Tracking: from the report of a run to metrics, ROI, history, forecasts and completed modules.

mod bucket;
mod completion;
mod cycle;
mod cycle_measurement;
mod energy;
mod forecasts;
mod history_files;
mod observed;
mod plugins;
mod report;
mod resources;
mod roi_rules;

pub(crate) use bucket::micropilot_decision;
pub use completion::CycleThresholds;
pub(crate) use cycle::CycleTracker;
pub use cycle::synergy_rests;
pub(crate) use energy::EnergyMeter;
pub use forecasts::{ForecastReport, forecast_of};
pub(crate) use history_files::with_history;
pub use history_files::{append_line, load_history, lock, read_history_or_empty};
pub(crate) use plugins::MetricsFile;
pub use report::{CycleModuleRow, CycleReport, CycleScenarioRow, WeakestMetric};
pub use roi_rules::RoiScoringRules;
