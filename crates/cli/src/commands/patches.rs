//! `menace patches`: the ledger of proposals and their verdicts.

use menace_model::ids::RunId;
use menace_model::patches::PatchDetail;
use menace_store::{PatchRecord, PatchState, Store};
use serde_json::json;

use crate::arguments::{PatchesCommand, PatchesListArguments};
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{
    ColumnAlignment, TableCell, TextStyle, TextTable, count, note, print, print_json, styled,
};
use menace_app::calling::{open_store, runtime};

use super::usage::UsageError;
use crate::terminal::shortened;

pub(super) fn run(configuration: &Configuration, command: &PatchesCommand) -> anyhow::Result<MenaceExit> {
    runtime()?.block_on(async {
        let store = open_store(configuration.app()).await?;
        match command {
            PatchesCommand::List(arguments) => list(&store, arguments).await?,
            PatchesCommand::Show { patch, output } => show(&found(&store, patch).await?, output.json)?,
            PatchesCommand::Revert { patch, reason } => revert(&store, patch, reason).await?,
        }
        store.close().await?;
        Ok(MenaceExit::Done)
    })
}

async fn found(store: &Store, patch: &str) -> anyhow::Result<PatchRecord> {
    Ok(store.patch(patch).await?.ok_or_else(|| UsageError::UnknownPatch(patch.to_owned()))?)
}

async fn list(store: &Store, arguments: &PatchesListArguments) -> anyhow::Result<()> {
    let run: Option<RunId> = match &arguments.run {
        Some(name) => Some(name.parse()?),
        None => store.last_patch().await?.map(|patch| patch.run),
    };
    let mut patches = match &run {
        Some(run) => store.patches(run).await?,
        None => Vec::new(),
    };
    patches.retain(|patch| !arguments.kept || patch.state == PatchState::Kept);
    if arguments.output.json {
        return print_json(&json!({"version": 1, "run": run, "patches": patches}));
    }
    let Some(run) = run else {
        note("no patches yet; propose some with: menace auto REPO");
        return Ok(());
    };
    note(&format!("{} of {run}", count(patches.len(), "patch").replace("patchs", "patches")));
    let mut table = TextTable::new(&[
        ("", ColumnAlignment::Left),
        ("patch", ColumnAlignment::Left),
        ("section", ColumnAlignment::Left),
        ("proposer", ColumnAlignment::Left),
        ("gain", ColumnAlignment::Right),
        ("score", ColumnAlignment::Right),
        ("reason", ColumnAlignment::Left),
    ]);
    for patch in &patches {
        let value_text = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:+.2}"));
        table.row([
            state(patch.state),
            patch.proposal.clone().into(),
            patch.section.clone().into(),
            patch.proposer.trim_start_matches("transform:").to_owned().into(),
            value_text(patch.verdict.verdict.gain).into(),
            value_text(patch.verdict.verdict.score).into(),
            shortened(&reason(patch), 80).into(),
        ]);
    }
    print(&table.text())
}

fn state(state: PatchState) -> TableCell {
    let style = match state {
        PatchState::Kept => TextStyle::Good,
        PatchState::Rejected | PatchState::Reverted => TextStyle::Dim,
    };
    TableCell::styled(state.name(), style)
}

/// Reason why the patch was kept, rejected or reverted.
fn reason(patch: &PatchRecord) -> String {
    match patch.state {
        PatchState::Kept => patch.detail.why.clone(),
        PatchState::Reverted => patch.verdict.reverted.clone().unwrap_or_default(),
        PatchState::Rejected => {
            patch.verdict.verdict.reason().unwrap_or_else(|| "verification did not finish".to_owned())
        }
    }
}

fn show(patch: &PatchRecord, is_json: bool) -> anyhow::Result<()> {
    if is_json {
        return print_json(patch);
    }
    let mut table = TextTable::new(&[
        ("#", ColumnAlignment::Right),
        ("condition", ColumnAlignment::Left),
        ("", ColumnAlignment::Left),
        ("value", ColumnAlignment::Left),
    ]);
    for condition in &patch.verdict.verdict.conditions {
        table.row([
            condition.number.to_string().into(),
            condition.name.replace('_', " ").into(),
            condition.state.name().replace('_', " ").into(),
            condition.figure.clone().into(),
        ]);
    }
    let title = format!("{} {} {} by {}", patch.proposal, patch.state.name(), patch.section, patch.proposer);
    let PatchDetail { why, cause, diff, .. } = &patch.detail;
    let commit = patch.commit.as_ref().map_or(String::new(), |commit| format!("commit {commit}\n"));
    print(&format!(
        "{}\n{why}\ncause: {cause}\n{commit}\n{}\n{diff}",
        styled(title, TextStyle::Bold),
        table.text()
    ))
}

async fn revert(store: &Store, patch: &str, reason: &str) -> anyhow::Result<()> {
    let mut record = found(store, patch).await?;
    if record.state != PatchState::Kept {
        return Err(UsageError::NotKept(patch.to_owned(), record.state.name()).into());
    }
    record.state = PatchState::Reverted;
    record.verdict.reverted = Some(reason.to_owned());
    store.record_patch(&record).await?;
    note(&format!("{patch} is now reverted: {reason}"));
    if let Some(commit) = &record.commit {
        note(&format!("hint: remove it from a branch with: git revert {commit}"));
    }
    Ok(())
}
