//! `menace show`: earlier runs, their failures and their calls.

use menace_model::ids::{CallId, RunId};
use menace_runner::Call;
use menace_store::{CallFilter, RunRecord, RunState};
use serde_json::{Value, json};

use crate::arguments::ShowArguments;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{
    ColumnAlignment, TableCell, TextStyle, TextTable, grouped, note, print, print_json, styled,
};
use menace_app::calling::{open_store, runtime};

use crate::terminal::{input, shortened};

pub(super) fn run(configuration: &Configuration, arguments: &ShowArguments) -> anyhow::Result<MenaceExit> {
    runtime()?.block_on(async {
        let store = open_store(configuration.app()).await?;
        let limit = if arguments.top == 0 { i64::MAX.unsigned_abs() } else { arguments.top as u64 };
        let Some(run) = &arguments.run else {
            let runs = store.runs(limit).await?;
            return show_runs(&runs, arguments.output.json);
        };
        let id: RunId = run.parse()?;
        let run = store.run(&id).await?;
        if !arguments.calls {
            return show_run(&run, &store.kinds(&id).await?, arguments);
        }
        let after = arguments.after.as_ref().map(|call| call.parse::<CallId>()).transpose()?;
        let filter = CallFilter {
            kind: arguments.kind,
            section: arguments.section.clone(),
            scenario: None,
            after: after.map(|call| call.number()),
            limit,
        };
        let calls = store.calls(&id, &filter).await?;
        if arguments.output.json {
            print_json(&json!({"version": 1, "run": id, "calls": calls}))?;
            return Ok(MenaceExit::Done);
        }
        print(&call_table(&calls))?;
        if calls.len() as u64 == limit
            && let Some(last) = calls.last()
        {
            note(&format!("more with --after {}", last.id));
        }
        Ok(MenaceExit::Done)
    })
}

fn show_runs(runs: &[RunRecord], json: bool) -> anyhow::Result<MenaceExit> {
    if json {
        print_json(&json!({"version": 1, "runs": runs}))?;
        return Ok(MenaceExit::Done);
    }
    if runs.is_empty() {
        note("no runs yet; start one with: menace run REPO");
        return Ok(MenaceExit::Done);
    }
    let mut table = TextTable::new(&[
        ("run", ColumnAlignment::Left),
        ("state", ColumnAlignment::Left),
        ("calls", ColumnAlignment::Right),
        ("seed", ColumnAlignment::Right),
        ("time", ColumnAlignment::Right),
        ("repository", ColumnAlignment::Left),
    ]);
    for run in runs {
        let style = if run.state == RunState::Finished { TextStyle::Good } else { TextStyle::Warning };
        let time =
            run.ended_ms.map_or(String::new(), |end| format!("{:.0} s", (end - run.began_ms) as f64 / 1e3));
        table.row([
            run.id.to_string().into(),
            TableCell::styled(run.state.name(), style),
            grouped(usize::try_from(run.planned).unwrap_or(usize::MAX)).into(),
            run.seed.to_string().into(),
            time.into(),
            run.repository.clone().into(),
        ]);
    }
    print(&table.text())?;
    Ok(MenaceExit::Done)
}

fn show_run(
    run: &RunRecord,
    kinds: &[(String, u64)],
    arguments: &ShowArguments,
) -> anyhow::Result<MenaceExit> {
    if arguments.output.json {
        match &run.report {
            Some(report) => print_json(report)?,
            None => print_json(run)?,
        }
        return Ok(MenaceExit::Done);
    }
    let mut counts: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    counts.sort();
    let mut text = format!(
        "{} · {} · {} · seed {}\n{}\n",
        styled(run.id.to_string(), TextStyle::Bold),
        run.repository,
        run.state.name(),
        run.seed,
        counts.join(" · "),
    );
    match &run.report {
        Some(report) => text.push_str(&failures(report, arguments.top)),
        None => text.push_str(&format!("\nresume with: menace run --resume {}\n", run.id)),
    }
    print(&text)?;
    Ok(MenaceExit::Done)
}

fn failures(report: &Value, top: usize) -> String {
    let none = Vec::new();
    let all = report["failures"].as_array().unwrap_or(&none);
    let mut table = TextTable::new(&[
        ("kind", ColumnAlignment::Left),
        ("section", ColumnAlignment::Left),
        ("scenario", ColumnAlignment::Left),
        ("error", ColumnAlignment::Left),
        ("location", ColumnAlignment::Left),
        ("replay", ColumnAlignment::Left),
    ]);
    let text = |failure: &Value, key: &str| failure[key].as_str().unwrap_or_default().to_owned();
    for failure in all.iter().take(if top == 0 { usize::MAX } else { top }) {
        let error = format!("{}: {}", text(failure, "exception"), text(failure, "message"));
        table.row([
            TableCell::styled(text(failure, "kind"), TextStyle::Bad),
            text(failure, "section").into(),
            text(failure, "scenario").into(),
            shortened(error.trim_start_matches(": "), 60).into(),
            format!("{}:{}", text(failure, "path"), failure["line"]).into(),
            text(failure, "replay").into(),
        ]);
    }
    format!("\n{}  {}\n{}", styled("Failures", TextStyle::Bold), grouped(all.len()), table.text())
}

fn call_table(calls: &[menace_store::CallRecord]) -> String {
    let mut table = TextTable::new(&[
        ("call", ColumnAlignment::Left),
        ("section", ColumnAlignment::Left),
        ("scenario", ColumnAlignment::Left),
        ("kind", ColumnAlignment::Left),
        ("ms", ColumnAlignment::Right),
        ("input", ColumnAlignment::Left),
    ]);
    for call in calls {
        let style = if call.kind.is_failure() { TextStyle::Bad } else { TextStyle::Dim };
        let made: Option<Call> = serde_json::from_value(call.spec.clone()).ok();
        table.row([
            call.id.to_string().into(),
            call.section.clone().into(),
            call.scenario.clone().into(),
            TableCell::styled(call.kind.name(), style),
            format!("{:.1}", call.wall_ms).into(),
            made.map_or(String::new(), |made| input(&made.stub, 60)).into(),
        ]);
    }
    table.text()
}
