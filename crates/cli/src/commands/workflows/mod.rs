//! `menace lab workflows`, `run-scenarios` and `simulate-temporal-trajectory`.

mod impact;
mod stored;
mod tables;

use menace_app::calling::runtime;
use menace_app::workflows::{run as run_all, run_scenarios as scenarios, simulate_trajectory};
use serde_json::json;

use crate::arguments::{WorkflowStressArguments, WorkflowsCommand, WorkflowsRunArguments};
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{print, print_json};

pub(super) fn run(configuration: &Configuration, command: &WorkflowsCommand) -> anyhow::Result<MenaceExit> {
    match command {
        WorkflowsCommand::Run(arguments) => run_workflows(configuration, arguments),
        WorkflowsCommand::Impact(arguments) => impact::run(configuration, arguments),
        other => stored::run(configuration, other),
    }
}

fn run_workflows(
    configuration: &Configuration,
    arguments: &WorkflowsRunArguments,
) -> anyhow::Result<MenaceExit> {
    let rows = runtime()?.block_on(run_all(configuration.app(), &arguments.request()))?;
    if arguments.common.output.json {
        print_json(&json!({"version": 1, "seed": arguments.common.seed, "workflows": rows}))?;
    } else {
        print(&tables::workflows(&rows))?;
    }
    let fails = rows.iter().any(|row| row.cell.robustness.is_some_and(|robustness| robustness < 1.0));
    Ok(if fails { MenaceExit::Found } else { MenaceExit::Done })
}

pub(super) fn run_scenarios(
    configuration: &Configuration,
    arguments: &WorkflowStressArguments,
) -> anyhow::Result<MenaceExit> {
    let request = arguments.common.request(&arguments.workflow);
    let report = runtime()?.block_on(scenarios(configuration.app(), &request))?;
    if arguments.common.output.json {
        print_json(&report)?;
    } else {
        let worst = report.worst_scenario.as_deref();
        print(&tables::scenarios(&report.workflow, &report.scenarios, worst))?;
    }
    let fails = report.scenarios.iter().any(|row| row.failure.is_some());
    Ok(if fails { MenaceExit::Found } else { MenaceExit::Done })
}

pub(super) fn trajectory(
    configuration: &Configuration,
    arguments: &WorkflowStressArguments,
) -> anyhow::Result<MenaceExit> {
    let request = arguments.common.request(&arguments.workflow);
    let report = runtime()?.block_on(simulate_trajectory(configuration.app(), &request))?;
    if arguments.common.output.json {
        print_json(&report)?;
    } else {
        let forecast = tables::forecast(report.outlook.as_ref());
        print(&(tables::trajectory(&report.workflow, &report.stages) + &forecast))?;
    }
    let fails = report.stages.iter().any(|row| row.failure.is_some());
    Ok(if fails { MenaceExit::Found } else { MenaceExit::Done })
}
