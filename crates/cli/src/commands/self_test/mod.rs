//! `menace self-test`: the tests of a repository, and calls of what has none.

mod candidates;
mod integrate;
mod report;
mod round;
mod state;
mod totals;

pub(super) use candidates::left_out;

use super::exporters::figures;
use crate::arguments::SelfTestArguments;
use crate::calling::runtime;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{note, print, print_json};

pub(super) fn run(
    configuration: &Configuration,
    arguments: &SelfTestArguments,
) -> anyhow::Result<MenaceExit> {
    let settings = &configuration.settings().self_test;
    let interval = arguments.interval.or(settings.self_test_interval).filter(|interval| !interval.is_zero());
    // Who runs one round reads what it prints.
    let _exporter = match interval {
        Some(_) => Some(figures(configuration, settings.self_test_metrics_port, "SELF_TEST_METRICS_PORT")?),
        None => None,
    };
    runtime()?.block_on(async {
        loop {
            let exit = once(configuration, arguments).await?;
            let Some(interval) = interval else { return Ok(exit) };
            note(&format!("the next round begins in {} s", interval.as_secs()));
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                _ = tokio::signal::ctrl_c() => return Ok(exit),
            }
        }
    })
}

async fn once(configuration: &Configuration, arguments: &SelfTestArguments) -> anyhow::Result<MenaceExit> {
    let round = round::run(configuration, arguments).await?;
    if arguments.output.json {
        print_json(&round)?;
    } else {
        print(&report::text(&round))?;
    }
    Ok(if round.failed > 0 { MenaceExit::Found } else { MenaceExit::Done })
}
