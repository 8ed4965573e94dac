//! What a loop has to show at its end: a table, report.json, report.html.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use menace_analysis::write_atomically;
use menace_model::patches::Verdict;
use menace_store::{PatchRecord, PatchState};
use serde::Serialize;

use super::page;
use super::seen::{AutoCycleSummary, ModuleCycleSummary};
use crate::commands::run::shortened;
use crate::terminal::{
    ColumnAlignment, TableCell, TextStyle, TextTable, count, note, print, print_json, styled,
};

/// Everything about a loop that ended.
#[derive(Debug, Serialize)]
pub(super) struct AutoRunReport {
    pub(super) version: u32,
    pub(super) run: String,
    pub(super) repository: String,
    pub(super) branch: String,
    /// The repository of git that has the branch.
    pub(super) home: String,
    pub(super) stopped: String,
    pub(super) cycles: Vec<AutoCycleSummary>,
    pub(super) modules: Vec<ModuleChange>,
    pub(super) patches: Vec<PatchRecord>,
    pub(super) cost: AutoRunCost,
}

/// What all of it cost.
#[derive(Debug, Default, Serialize)]
pub(super) struct AutoRunCost {
    /// Wall time.
    pub(super) seconds: f64,
    /// CPU time of the calls that proposals were proven with.
    pub(super) cpu_seconds: f64,
    pub(super) tokens: u64,
    /// Nothing if a price is unknown.
    pub(super) money: Option<f64>,
}

/// What a module was at first and at last.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ModuleChange {
    pub(super) module: String,
    pub(super) before: ModuleCycleSummary,
    pub(super) after: ModuleCycleSummary,
    pub(super) kept: usize,
    pub(super) rejected: usize,
}

impl AutoRunReport {
    pub(super) fn kept(&self) -> usize {
        self.patches.iter().filter(|patch| patch.state == PatchState::Kept).count()
    }
}

/// Modules at first and at last, with what was proposed for them.
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

/// What all of it cost.
pub(super) fn cost(
    patches: &[PatchRecord],
    seconds: f64,
    (tokens, money): (u64, Option<f64>),
) -> AutoRunCost {
    let cpu_seconds = patches.iter().map(|patch| patch.cost.cpu_seconds).sum();
    AutoRunCost { seconds, cpu_seconds, tokens, money }
}

/// Writes both files.
pub(super) fn write(finished: &AutoRunReport, directory: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("failed to make {}", directory.display()))?;
    let json = serde_json::to_vec_pretty(finished)?;
    for (name, content) in [("report.json", json), ("report.html", page::html(finished).into_bytes())] {
        let path = directory.join(name);
        write_atomically(&path, &content).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(())
}

/// Shows it.
pub(super) fn show(finished: &AutoRunReport, directory: &Path, is_json: bool) -> anyhow::Result<()> {
    if is_json {
        return print_json(finished);
    }
    let mut text = cycles(finished);
    text.push_str(&changes(finished));
    text.push_str(&patches(finished));
    let kept = finished.kept();
    text.push_str(&format!(
        "\n{}  {} looked at, {kept} kept; {}\n{}  {}\n",
        styled("Stopped", TextStyle::Bold),
        count(finished.patches.len(), "proposal"),
        finished.stopped,
        styled("Cost   ", TextStyle::Bold),
        spent(&finished.cost)
    ));
    if kept > 0 {
        text.push_str(&format!(
            "{}  git -C {} log {}    ·    git merge {}\n",
            styled("Branch", TextStyle::Bold),
            finished.home,
            finished.branch,
            finished.branch
        ));
    }
    print(&text)?;
    note(&format!("report: {}", directory.join("report.html").display()));
    Ok(())
}

fn cycles(finished: &AutoRunReport) -> String {
    let mut table = TextTable::new(&[
        ("cycle", ColumnAlignment::Right),
        ("calls", ColumnAlignment::Right),
        ("ways to fail", ColumnAlignment::Right),
        ("ROI", ColumnAlignment::Right),
        ("time", ColumnAlignment::Right),
    ]);
    for (number, cycle) in finished.cycles.iter().enumerate() {
        table.row([
            (number + 1).to_string().into(),
            crate::terminal::grouped(cycle.calls).into(),
            cycle.failures.to_string().into(),
            cycle.roi.map_or("–".to_owned(), |roi| format!("{roi:.3}")).into(),
            format!("{:.0} s", cycle.seconds).into(),
        ]);
    }
    table.text() + "\n"
}

/// Modules that changed, before and after.
fn changes(finished: &AutoRunReport) -> String {
    let mut table = TextTable::new(&[
        ("module", ColumnAlignment::Left),
        ("calls that end well", ColumnAlignment::Left),
        ("", ColumnAlignment::Left),
        ("ROI", ColumnAlignment::Right),
        ("", ColumnAlignment::Left),
        ("kept", ColumnAlignment::Right),
        ("rejected", ColumnAlignment::Right),
    ]);
    let mut is_empty = true;
    for change in finished.modules.iter().filter(|change| change.kept + change.rejected > 0) {
        is_empty = false;
        let roi = |seen: &ModuleCycleSummary| seen.roi.map_or("–".to_owned(), |roi| format!("{roi:.3}"));
        table.row([
            change.module.clone().into(),
            share(&change.before).into(),
            format!("→ {}", share(&change.after)).into(),
            roi(&change.before).into(),
            format!("→ {}", roi(&change.after)).into(),
            change.kept.to_string().into(),
            change.rejected.to_string().into(),
        ]);
    }
    if is_empty { String::new() } else { table.text() + "\n" }
}

/// A share with its 95 % interval.
pub(super) fn share(seen: &ModuleCycleSummary) -> String {
    seen.robustness().map_or("–".to_owned(), |(share, (low, high))| {
        format!("{:.1} % ({:.1} … {:.1})", share * 100.0, low * 100.0, high * 100.0)
    })
}

/// What all of it cost, in a line.
pub(super) fn spent(cost: &AutoRunCost) -> String {
    let tokens = crate::terminal::grouped(usize::try_from(cost.tokens).unwrap_or(usize::MAX));
    let money = match cost.money {
        _ if cost.tokens == 0 => "no tokens".to_owned(),
        Some(money) => format!("{tokens} tokens, {money:.4}"),
        None => format!("{tokens} tokens, price unknown"),
    };
    format!("{:.1} min, {:.0} s of CPU to prove proposals, {money}", cost.seconds / 60.0, cost.cpu_seconds)
}

fn patches(finished: &AutoRunReport) -> String {
    let mut table = TextTable::new(&[
        ("", ColumnAlignment::Left),
        ("section", ColumnAlignment::Left),
        ("who", ColumnAlignment::Left),
        ("gain", ColumnAlignment::Right),
        ("95 %", ColumnAlignment::Left),
        ("why", ColumnAlignment::Left),
    ]);
    let (kept, rejected): (Vec<_>, Vec<_>) =
        finished.patches.iter().partition(|patch| patch.state == PatchState::Kept);
    for patch in &kept {
        let Verdict { gain, interval, .. } = &patch.verdict.verdict;
        table.row([
            TableCell::styled("kept", TextStyle::Good),
            patch.section.clone().into(),
            patch.proposer.trim_start_matches("transform:").to_owned().into(),
            gain.map_or("–".to_owned(), |gain| format!("{gain:+.2}")).into(),
            interval.map_or(String::new(), |(low, high)| format!("{low:+.2} … {high:+.2}")).into(),
            shortened(&patch.detail.why, 90).into(),
        ]);
    }
    let mut text = if kept.is_empty() { String::new() } else { table.text() };
    if !rejected.is_empty() {
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for patch in rejected {
            *reasons.entry(reason(patch)).or_default() += 1;
        }
        let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let words: Vec<String> =
            reasons.into_iter().map(|(reason, count)| format!("{count} × {reason}")).collect();
        text.push_str(&format!("\n{}\n", styled(format!("rejected: {}", words.join(" · ")), TextStyle::Dim)));
    }
    text
}

/// The name of the first condition that did not hold.
pub(super) fn reason(patch: &PatchRecord) -> String {
    let failed = patch.verdict.verdict.first_unmet();
    failed.map_or_else(
        || "not looked at to the end".to_owned(),
        |condition| format!("not “{}”", condition.name),
    )
}
