//! `menace workflows add/list/show/rm`.

use menace_app::calling::{now_ms, open_store, runtime};
use menace_store::WorkflowRecord;
use serde_json::json;

use crate::arguments::WorkflowsCommand;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, note, print, print_json};

pub(super) fn run(configuration: &Configuration, command: &WorkflowsCommand) -> anyhow::Result<MenaceExit> {
    runtime()?.block_on(async {
        let store = open_store(configuration.app()).await?;
        match command {
            WorkflowsCommand::Add { name, steps, output } => {
                let id = store.add_workflow(name, steps, now_ms()).await?;
                if output.json {
                    print_json(&store.workflow(&id.to_string()).await?)?;
                } else {
                    note(&format!("stored workflow {id}: {name}"));
                }
            }
            WorkflowsCommand::List { output } => {
                let all = store.workflows().await?;
                if output.json {
                    print_json(&json!({"version": 1, "workflows": all}))?;
                } else {
                    print(&table(&all))?;
                }
            }
            WorkflowsCommand::Show { name, output } => {
                let workflow = store.workflow(name).await?;
                if output.json {
                    print_json(&workflow)?;
                } else {
                    print(&table(&[workflow]))?;
                }
            }
            WorkflowsCommand::Rm { name } => {
                let removed = store.remove_workflow(name).await?;
                note(&format!("removed workflow {}: {}", removed.id, removed.name));
            }
            WorkflowsCommand::Run(_) | WorkflowsCommand::Impact(_) => {}
        }
        store.close().await?;
        Ok(MenaceExit::Done)
    })
}

fn table(workflows: &[WorkflowRecord]) -> String {
    let mut table = TextTable::new(&[
        ("id", ColumnAlignment::Right),
        ("name", ColumnAlignment::Left),
        ("steps", ColumnAlignment::Left),
    ]);
    for workflow in workflows {
        table.row([
            workflow.id.to_string().into(),
            workflow.name.clone().into(),
            workflow.steps.join(" → ").into(),
        ]);
    }
    table.text()
}
