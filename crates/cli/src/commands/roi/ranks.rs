//! `menace rank-scenarios`, `rank-synergy`, `rank-scenario-synergy`.

use std::path::PathBuf;

use menace_tracker::history::{self, History, ScenarioRank};
use serde_json::json;

use crate::arguments::{RankScenarios, RankSynergy};
use crate::commands::usage::UsageError;
use crate::exit::Exit;
use crate::terminal::{Align, Table, print, print_json};
use crate::tracking::load_history;

pub(in crate::commands) fn rank_scenarios(arguments: &RankScenarios) -> anyhow::Result<Exit> {
    let ranks = history::rank_scenarios(&all(&arguments.runs)?);
    show(&ranks, "ROI", arguments.output.json)
}

pub(in crate::commands) fn rank_synergy(arguments: &RankSynergy) -> anyhow::Result<Exit> {
    let ranks = history::rank_synergy(&all(&arguments.runs)?, &arguments.metric);
    show(&ranks, &format!("synergy_{}", arguments.metric), arguments.output.json)
}

pub(in crate::commands) fn rank_scenario_synergy(arguments: &RankSynergy) -> anyhow::Result<Exit> {
    let ranks = history::rank_scenario_synergy(&all(&arguments.runs)?, &arguments.metric);
    show(&ranks, &format!("synergy_{}", arguments.metric), arguments.output.json)
}

fn all(runs: &[PathBuf]) -> anyhow::Result<Vec<History>> {
    runs.iter().map(|path| load_history(path)).collect()
}

fn show(ranks: &[ScenarioRank], name: &str, is_json: bool) -> anyhow::Result<Exit> {
    if ranks.iter().all(|rank| rank.count == 0) {
        return Err(UsageError::Tracking(format!(
            "nothing of {name} was measured under scenarios: menace workflows run --scenario all measures synergy"
        )).into());
    }
    if is_json {
        print_json(&json!({"version": 1, "metric": name, "scenarios": ranks}))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&[
        ("scenario", Align::Left),
        (name, Align::Right),
        ("security_score", Align::Right),
        ("values", Align::Right),
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
    Ok(Exit::Done)
}
