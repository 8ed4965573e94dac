//! `menace rank-scenarios`, `rank-synergy`, `rank-scenario-synergy`.

use menace_app::RequestError;
use std::path::PathBuf;

use menace_tracker::history::{self, RoiHistory, ScenarioRank};
use serde_json::json;

use crate::arguments::{RankScenariosArguments, RankSynergyArguments};
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, print, print_json};
use menace_app::tracking::load_history;

pub(in crate::commands) fn rank_scenarios(arguments: &RankScenariosArguments) -> anyhow::Result<MenaceExit> {
    let ranks = history::rank_scenarios(&all(&arguments.runs)?);
    show(&ranks, "ROI", arguments.output.json)
}

pub(in crate::commands) fn rank_synergy(arguments: &RankSynergyArguments) -> anyhow::Result<MenaceExit> {
    let ranks = history::rank_synergy(&all(&arguments.runs)?, &arguments.metric);
    show(&ranks, &format!("synergy_{}", arguments.metric), arguments.output.json)
}

pub(in crate::commands) fn rank_scenario_synergy(
    arguments: &RankSynergyArguments,
) -> anyhow::Result<MenaceExit> {
    let ranks = history::rank_scenario_synergy(&all(&arguments.runs)?, &arguments.metric);
    show(&ranks, &format!("synergy_{}", arguments.metric), arguments.output.json)
}

fn all(runs: &[PathBuf]) -> anyhow::Result<Vec<RoiHistory>> {
    runs.iter().map(|path| Ok(load_history(path)?)).collect()
}

fn show(ranks: &[ScenarioRank], name: &str, is_json: bool) -> anyhow::Result<MenaceExit> {
    if ranks.iter().all(|rank| rank.count == 0) {
        return Err(RequestError::Tracking(format!(
            "{name} was not measured under any scenario; measure synergy with: menace workflows run --scenario all"
        )).into());
    }
    if is_json {
        print_json(&json!({"version": 1, "metric": name, "scenarios": ranks}))?;
        return Ok(MenaceExit::Done);
    }
    let mut table = TextTable::new(&[
        ("scenario", ColumnAlignment::Left),
        (name, ColumnAlignment::Right),
        ("security_score", ColumnAlignment::Right),
        ("values", ColumnAlignment::Right),
    ]);
    for rank in ranks {
        table.row([
            rank.scenario.clone().into(),
            format!("{:.3}", rank.total).into(),
            rank.security_score.map_or("–".to_owned(), |score| format!("{score:.2}")).into(),
            rank.count.to_string().into(),
        ]);
    }
    print(&table.text())?;
    Ok(MenaceExit::Done)
}
