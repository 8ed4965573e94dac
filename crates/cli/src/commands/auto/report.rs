//! The report of `menace auto` as tables.

use std::collections::BTreeMap;
use std::path::Path;

use menace_app::improve::{AutoRunReport, ModuleCycleSummary, share, spent, unmet_condition};
use menace_model::patches::Verdict;
use menace_store::PatchState;

use crate::terminal::{
    ColumnAlignment, TableCell, TextStyle, TextTable, count, grouped, note, print, print_json, shortened,
    styled,
};

/// Prints the report.
pub(super) fn show(finished: &AutoRunReport, directory: &Path, is_json: bool) -> anyhow::Result<()> {
    if is_json {
        return print_json(finished);
    }
    let mut text = cycles(finished);
    text.push_str(&changes(finished));
    text.push_str(&patches(finished));
    let kept = finished.kept();
    text.push_str(&format!(
        "\n{}  {}, {kept} kept; {}\n{}  {}\n",
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
        ("failures", ColumnAlignment::Right),
        ("ROI", ColumnAlignment::Right),
        ("time", ColumnAlignment::Right),
    ]);
    for (number, cycle) in finished.cycles.iter().enumerate() {
        table.row([
            (number + 1).to_string().into(),
            grouped(cycle.calls).into(),
            cycle.failures.to_string().into(),
            cycle.roi.map_or("–".to_owned(), |roi| format!("{roi:.3}")).into(),
            format!("{:.0} s", cycle.seconds).into(),
        ]);
    }
    table.text() + "\n"
}

/// Modules with proposals, before and after.
fn changes(finished: &AutoRunReport) -> String {
    let mut table = TextTable::new(&[
        ("module", ColumnAlignment::Left),
        ("calls without failure", ColumnAlignment::Left),
        ("", ColumnAlignment::Left),
        ("ROI", ColumnAlignment::Right),
        ("", ColumnAlignment::Left),
        ("kept", ColumnAlignment::Right),
        ("rejected", ColumnAlignment::Right),
    ]);
    let mut is_empty = true;
    for change in finished.modules.iter().filter(|change| change.kept + change.rejected > 0) {
        is_empty = false;
        let roi =
            |summary: &ModuleCycleSummary| summary.roi.map_or("–".to_owned(), |roi| format!("{roi:.3}"));
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

fn patches(finished: &AutoRunReport) -> String {
    let mut table = TextTable::new(&[
        ("", ColumnAlignment::Left),
        ("section", ColumnAlignment::Left),
        ("proposer", ColumnAlignment::Left),
        ("gain", ColumnAlignment::Right),
        ("95 %", ColumnAlignment::Left),
        ("change", ColumnAlignment::Left),
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
            *reasons.entry(unmet_condition(patch)).or_default() += 1;
        }
        let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let words: Vec<String> =
            reasons.into_iter().map(|(reason, count)| format!("{count} × {reason}")).collect();
        text.push_str(&format!("\n{}\n", styled(format!("rejected: {}", words.join(" · ")), TextStyle::Dim)));
    }
    text
}
