//! The report of a run: report.json and report.html.

use std::path::Path;

use menace_analysis::write_atomically;
use menace_store::{PatchRecord, PatchState};
use serde::Serialize;

use super::cycle_summary::{AutoCycleSummary, ModuleCycleSummary};
use super::report_page;
use crate::AppError;
use crate::error::FileContext;
use crate::text::grouped;

/// Report of a run.
#[derive(Debug, Serialize)]
pub struct AutoRunReport {
    /// Version of the format.
    pub version: u32,
    /// Id of the run.
    pub run: String,
    /// The repository.
    pub repository: String,
    /// Branch of the kept patches.
    pub branch: String,
    /// Git repository of the branch.
    pub home: String,
    /// Reason why the run stopped.
    pub stopped: String,
    /// The cycles.
    pub cycles: Vec<AutoCycleSummary>,
    /// Modules with proposals.
    pub modules: Vec<ModuleChange>,
    /// All proposals with their verdicts.
    pub patches: Vec<PatchRecord>,
    /// Cost of the run.
    pub cost: AutoRunCost,
}

/// Cost of a run.
#[derive(Debug, Default, Serialize)]
pub struct AutoRunCost {
    /// Wall time.
    pub seconds: f64,
    /// CPU time of the calls that verified proposals.
    pub cpu_seconds: f64,
    /// Tokens of models.
    pub tokens: u64,
    /// Cost of models; `None` if a price is unknown.
    pub money: Option<f64>,
}

/// A module in the first and the last cycle.
#[derive(Debug, Clone, Serialize)]
pub struct ModuleChange {
    /// Path of the module.
    pub module: String,
    /// The first cycle.
    pub before: ModuleCycleSummary,
    /// The last cycle.
    pub after: ModuleCycleSummary,
    /// Kept proposals.
    pub kept: usize,
    /// Rejected proposals.
    pub rejected: usize,
}

impl AutoRunReport {
    /// Number of kept patches.
    pub fn kept(&self) -> usize {
        self.patches.iter().filter(|patch| patch.state == PatchState::Kept).count()
    }
}

/// Modules in the first and the last cycle, with their proposals.
pub(super) fn modules(cycles: &[AutoCycleSummary], patches: &[PatchRecord]) -> Vec<ModuleChange> {
    let (Some(first), Some(last)) = (cycles.first(), cycles.last()) else { return Vec::new() };
    let touches = |patch: &&PatchRecord, module: &str| patch.detail.files.contains_key(module);
    last.modules
        .iter()
        .map(|(module, after)| {
            let of_module = || patches.iter().filter(|patch| touches(patch, module));
            let kept = of_module().filter(|patch| patch.state == PatchState::Kept).count();
            ModuleChange {
                module: module.clone(),
                before: first.modules.get(module).unwrap_or(after).clone(),
                after: after.clone(),
                kept,
                rejected: of_module().count() - kept,
            }
        })
        .collect()
}

/// Cost of a run.
pub(super) fn cost(
    patches: &[PatchRecord],
    seconds: f64,
    (tokens, money): (u64, Option<f64>),
) -> AutoRunCost {
    let cpu_seconds = patches.iter().map(|patch| patch.cost.cpu_seconds).sum();
    AutoRunCost { seconds, cpu_seconds, tokens, money }
}

/// Writes both files.
pub(super) fn write(finished: &AutoRunReport, directory: &Path) -> Result<(), AppError> {
    std::fs::create_dir_all(directory).file("create", directory)?;
    let json = serde_json::to_vec_pretty(finished)?;
    for (name, content) in [("report.json", json), ("report.html", report_page::html(finished).into_bytes())]
    {
        let path = directory.join(name);
        write_atomically(&path, &content).file("write", &path)?;
    }
    Ok(())
}

/// Share of calls without a failure, with its 95 % interval.
pub fn share(seen: &ModuleCycleSummary) -> String {
    seen.robustness().map_or("–".to_owned(), |(share, (low, high))| {
        format!("{:.1} % ({:.1} … {:.1})", share * 100.0, low * 100.0, high * 100.0)
    })
}

/// The cost in one line.
pub fn spent(cost: &AutoRunCost) -> String {
    let tokens = grouped(usize::try_from(cost.tokens).unwrap_or(usize::MAX));
    let money = match cost.money {
        _ if cost.tokens == 0 => "no tokens".to_owned(),
        Some(money) => format!("{tokens} tokens, {money:.4}"),
        None => format!("{tokens} tokens, price unknown"),
    };
    format!("{:.1} min, {:.0} s of CPU for verification, {money}", cost.seconds / 60.0, cost.cpu_seconds)
}

/// The first condition that a rejected patch did not meet.
pub fn unmet_condition(patch: &PatchRecord) -> String {
    let unmet = patch.verdict.verdict.first_unmet();
    unmet.map_or_else(
        || "verification did not finish".to_owned(),
        |condition| format!("not met: {}", condition.name),
    )
}
