//! `menace auto`: an autonomous run, with the dashboard and the exporters that the settings enable.

mod recovery;
mod report;

use menace_app::calling::runtime;
use menace_app::improve::{AutoEnd, run as improve};

use super::{dashboard, exporters};
use crate::arguments::{AutoArguments, RunCompleteArguments};
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
pub(super) use recovery::show as show_recovery;

pub(super) fn run(configuration: &Configuration, arguments: &AutoArguments) -> anyhow::Result<MenaceExit> {
    let dashboard = dashboard::start_run_dashboard(configuration)?;
    let _exporters = exporters::start_run_exporters(configuration)?;
    let end = runtime()?.block_on(async {
        let end = improve(configuration.app(), &arguments.request()).await;
        if let Some(dashboard) = &dashboard {
            dashboard.wait_for_last_events().await;
        }
        end
    })?;
    match end {
        AutoEnd::Interrupted(_) => Ok(MenaceExit::Interrupted),
        AutoEnd::Finished { report, directory } => {
            report::show(&report, &directory, arguments.measure.output.json)?;
            Ok(MenaceExit::Done)
        }
    }
}

pub(super) fn run_complete(
    configuration: &Configuration,
    arguments: RunCompleteArguments,
) -> anyhow::Result<MenaceExit> {
    let RunCompleteArguments { presets, mut auto } = arguments;
    auto.measure.preset_file = vec![presets];
    run(configuration, &auto)
}
