//! `menace workflows impact`: the impact of a change of one workflow on the others.

use menace_app::calling::runtime;
use menace_app::workflows::{WorkflowImpactRequest, impact};
use menace_tracker::workflows::WorkflowImpact;
use serde_json::json;

use crate::arguments::WorkflowsImpactArguments;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TextTable, print, print_json};

pub(super) fn run(
    configuration: &Configuration,
    arguments: &WorkflowsImpactArguments,
) -> anyhow::Result<MenaceExit> {
    let request = WorkflowImpactRequest {
        workflow: arguments.workflow.clone(),
        repository: arguments.repository.scan(),
        roi: arguments.roi,
        synergy: arguments.synergy,
    };
    let impacts = runtime()?.block_on(impact(configuration.app(), &request))?;
    if arguments.output.json {
        print_json(&json!({"version": 1, "workflow": arguments.workflow, "impact": impacts}))?;
        return Ok(MenaceExit::Done);
    }
    let mut rows: Vec<(&String, &WorkflowImpact)> = impacts.iter().collect();
    rows.sort_by(|a, b| {
        a.1.distance.cmp(&b.1.distance).then_with(|| b.1.roi.abs().total_cmp(&a.1.roi.abs()))
    });
    let mut table = TextTable::new(&[
        ("workflow", ColumnAlignment::Left),
        ("ROI", ColumnAlignment::Right),
        ("synergy", ColumnAlignment::Right),
        ("distance", ColumnAlignment::Right),
    ]);
    for (name, impact) in rows {
        table.row([
            name.clone().into(),
            format!("{:+.3}", impact.roi).into(),
            format!("{:+.3}", impact.synergy).into(),
            impact.distance.to_string().into(),
        ]);
    }
    print(&table.text())?;
    Ok(MenaceExit::Done)
}
