//! What a cycle measured, small enough to be kept with the loop: its report is made of this, also after a restart.

use std::collections::BTreeMap;

use menace_model::inventory::Inventory;
use menace_runner::{RunReport, wilson};
use serde::{Deserialize, Serialize};

use crate::tracking::CycleReport;

/// A cycle that ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AutoCycleSummary {
    pub(super) calls: usize,
    pub(super) failures: usize,
    pub(super) roi: Option<f64>,
    /// What is expected next, with its interval.
    pub(super) forecast: Option<(f64, Option<(f64, f64)>)>,
    pub(super) seconds: f64,
    /// By path.
    pub(super) modules: BTreeMap<String, ModuleCycleSummary>,
}

/// A module in a cycle.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ModuleCycleSummary {
    pub(super) roi: Option<f64>,
    /// Calls that ended well, of those that count.
    pub(super) ended_well: usize,
    pub(super) n: usize,
    pub(super) complete: Option<String>,
}

impl ModuleCycleSummary {
    /// The share of calls that ended well, with its 95 % interval.
    pub(super) fn robustness(&self) -> Option<(f64, (f64, f64))> {
        (self.n > 0).then(|| (self.ended_well as f64 / self.n as f64, wilson(self.ended_well, self.n)))
    }
}

impl AutoCycleSummary {
    pub(super) fn new(
        report: &RunReport,
        worth: Option<&CycleReport>,
        inventory: &Inventory,
        seconds: f64,
    ) -> Self {
        let next = worth.and_then(|worth| worth.forecast.as_ref()?.forecast.steps.first().copied());
        Self {
            calls: report.calls,
            failures: report.failures.len(),
            roi: worth.and_then(|worth| worth.roi),
            forecast: next.map(|next| (next.value, next.interval)),
            seconds,
            modules: modules(report, worth, inventory),
        }
    }
}

fn modules(
    report: &RunReport,
    worth: Option<&CycleReport>,
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
    for row in worth.into_iter().flat_map(|worth| &worth.modules) {
        let module = found.entry(row.module.clone()).or_default();
        module.roi = Some(row.raroi.roi);
        module.complete.clone_from(&row.complete);
    }
    found
}
