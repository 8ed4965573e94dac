//! `menace run`: calls every function of a repository and reports the outcomes.

mod containers;
mod report;
mod worth;

use menace_app::calling::runtime;
use menace_app::measure::{
    MeasuredRun, missing_scenarios, report_with_roi, resume, run as measure, write_regression_tests,
};
use menace_app::{AppEvent, RequestError};
use menace_runner::{RunEnd, RunReport};
use serde_json::{Value, json};

use crate::arguments::RunArguments;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{print, print_json};

pub(super) fn run(configuration: &Configuration, arguments: &RunArguments) -> anyhow::Result<MenaceExit> {
    let context = configuration.app();
    let options = &arguments.measure;
    if context.settings().docker.docker && arguments.resume.is_none() {
        if arguments.emit_tests.is_some() {
            return Err(RequestError::NotInContainers.into());
        }
        let reports = runtime()?.block_on(menace_app::containers::run(context, &options.request()))?;
        return containers::show(&reports, options);
    }
    let runs = runtime()?.block_on(async {
        match &arguments.resume {
            Some(id) => {
                let forecast_log = options.forecast_log.as_deref();
                resume(context, id, options.repository.no_cache, forecast_log).await.map(|run| vec![run])
            }
            None => measure(context, &options.request()).await,
        }
    })?;
    finish(configuration, arguments, &runs)
}

fn finish(
    configuration: &Configuration,
    arguments: &RunArguments,
    runs: &[MeasuredRun],
) -> anyhow::Result<MenaceExit> {
    let context = configuration.app();
    let is_json = arguments.measure.output.json;
    let mut exit = MenaceExit::Done;
    let mut reports: Vec<Value> = Vec::new();
    for MeasuredRun { id, settings, end, cycle } in runs {
        match end {
            RunEnd::Interrupted { made, planned } => {
                let (run, made, planned) = (id.clone(), *made, *planned);
                context.emit(AppEvent::RunInterrupted { run, made, planned });
                exit = MenaceExit::Interrupted;
            }
            RunEnd::Finished(report) => {
                let rows = arguments.measure.rows();
                if !is_json {
                    print(&report::report(report, rows))?;
                    if let Some(cycle) = cycle {
                        print(&worth::roi_summary(cycle, rows))?;
                    }
                }
                if let Some(directory) = &arguments.emit_tests {
                    write_regression_tests(context, directory, report, settings)?;
                }
                let is_incomplete =
                    context.settings().presets.fail_on_missing_scenarios && !report_missing(report);
                if exit == MenaceExit::Done && (!report.failures.is_empty() || is_incomplete) {
                    exit = MenaceExit::Found;
                }
                reports.push(report_with_roi(report, cycle.as_ref())?);
            }
        }
    }
    match (is_json, &reports[..]) {
        (false, _) | (true, []) => {}
        (true, [report]) => print_json(report)?,
        (true, reports) => print_json(&json!({"version": 1, "runs": reports}))?,
    }
    Ok(exit)
}

/// Logs scenarios under which a module was not called. Returns whether there are none.
fn report_missing(report: &RunReport) -> bool {
    let missing = missing_scenarios(report);
    for (module, scenario, reason) in &missing {
        tracing::error!("{module} was not called under {scenario}: {reason}");
    }
    missing.is_empty()
}
