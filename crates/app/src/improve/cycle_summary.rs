//! Summary of a cycle, stored with the run, so that the report is complete after a restart.

use std::collections::BTreeMap;

use menace_model::inventory::Inventory;
use menace_runner::{RunReport, wilson};
use serde::{Deserialize, Serialize};

use crate::tracking::CycleReport;

/// Summary of a finished cycle.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AutoCycleSummary {
    /// Number of calls.
    pub calls: usize,
    /// Distinct failures.
    pub failures: usize,
    /// ROI.
    pub roi: Option<f64>,
    /// Forecast of the next ROI, with its interval.
    pub forecast: Option<(f64, Option<(f64, f64)>)>,
    /// Duration.
    pub seconds: f64,
    /// Modules by path.
    pub modules: BTreeMap<String, ModuleCycleSummary>,
}

/// A module in a cycle.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ModuleCycleSummary {
    /// ROI.
    pub roi: Option<f64>,
    /// Calls without a failure.
    pub ended_well: usize,
    /// Calls that count.
    pub n: usize,
    /// Reason why the module is complete.
    pub complete: Option<String>,
}

impl ModuleCycleSummary {
    /// Share of calls without a failure, with its 95 % interval.
    pub fn robustness(&self) -> Option<(f64, (f64, f64))> {
        (self.n > 0).then(|| (self.ended_well as f64 / self.n as f64, wilson(self.ended_well, self.n)))
    }
}

impl AutoCycleSummary {
    pub(super) fn new(
        report: &RunReport,
        cycle: Option<&CycleReport>,
        inventory: &Inventory,
        seconds: f64,
    ) -> Self {
        let next = cycle.and_then(|cycle| cycle.forecast.as_ref()?.forecast.steps.first().copied());
        Self {
            calls: report.calls,
            failures: report.failures.len(),
            roi: cycle.and_then(|cycle| cycle.roi),
            forecast: next.map(|next| (next.value, next.interval)),
            seconds,
            modules: modules(report, cycle, inventory),
        }
    }
}

fn modules(
    report: &RunReport,
    cycle: Option<&CycleReport>,
    inventory: &Inventory,
) -> BTreeMap<String, ModuleCycleSummary> {
    let paths: BTreeMap<&str, &str> =
        inventory.modules.iter().map(|module| (module.name.as_str(), module.path.as_str())).collect();
    let mut found: BTreeMap<String, ModuleCycleSummary> = BTreeMap::new();
    for cell in &report.cells {
        let name = cell.section.split_once(':').map_or(cell.section.as_str(), |(module, _)| module);
        let Some(path) = paths.get(name) else { continue };
        let module = found.entry((*path).to_owned()).or_default();
        let of = |kind: &str| cell.kinds.get(kind).copied().unwrap_or(0);
        module.ended_well += of("ok") + of("rejected");
        module.n += cell.n;
    }
    for row in cycle.into_iter().flat_map(|cycle| &cycle.modules) {
        let module = found.entry(row.module.clone()).or_default();
        module.roi = Some(row.raroi.roi);
        module.complete.clone_from(&row.complete);
    }
    found
}
