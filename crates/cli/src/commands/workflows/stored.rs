//! `menace workflows add/list/show/rm`.

use menace_store::Workflow;
use serde_json::json;

use crate::arguments::WorkflowsCommand;
use crate::calling::{now_ms, open_store, runtime};
use crate::configuration::Configuration;
use crate::exit::Exit;
use crate::terminal::{Align, Table, note, print, print_json};

pub(super) fn run(configuration: &Configuration, command: &WorkflowsCommand) -> anyhow::Result<Exit> {
    runtime()?.block_on(async {
        let store = open_store(configuration).await?;
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
        Ok(Exit::Done)
    })
}

fn table(workflows: &[Workflow]) -> String {
    let mut table = Table::new(&[("id", Align::Right), ("name", Align::Left), ("steps", Align::Left)]);
    for workflow in workflows {
        table.row([
            workflow.id.to_string().into(),
            workflow.name.clone().into(),
            workflow.steps.join(" → ").into(),
        ]);
    }
    table.text()
}
