//! `menace lab self-test`: the tests of a repository, and calls of modules without tests.

use menace_app::calling::runtime;
use menace_app::self_test::{ModuleTestResult, SelfTestRound, run as run_round};

use super::exporters::export_directory;
use crate::arguments::SelfTestArguments;
use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{
    ColumnAlignment, TableCell, TextStyle, TextTable, count, note, print, print_json, shortened, styled,
};

pub(super) fn run(
    configuration: &Configuration,
    arguments: &SelfTestArguments,
) -> anyhow::Result<MenaceExit> {
    let settings = &configuration.settings().self_test;
    let interval = arguments.interval.or(settings.self_test_interval).filter(|interval| !interval.is_zero());
    // A single round prints its result; only repeated rounds are exported.
    let _exporter = match interval {
        Some(_) => {
            Some(export_directory(configuration, settings.self_test_metrics_port, "SELF_TEST_METRICS_PORT")?)
        }
        None => None,
    };
    runtime()?.block_on(async {
        loop {
            let round = run_round(configuration.app(), &arguments.request()).await?;
            if arguments.output.json {
                print_json(&round)?;
            } else {
                print(&text(&round))?;
            }
            let exit = if round.failed > 0 { MenaceExit::Found } else { MenaceExit::Done };
            let Some(interval) = interval else { return Ok(exit) };
            note(&format!("next round in {} s", interval.as_secs()));
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                _ = tokio::signal::ctrl_c() => return Ok(exit),
            }
        }
    })
}

fn text(round: &SelfTestRound) -> String {
    let mut table = TextTable::new(&[
        ("module", ColumnAlignment::Left),
        ("", ColumnAlignment::Left),
        ("tests", ColumnAlignment::Left),
        ("calls", ColumnAlignment::Left),
        ("first failure", ColumnAlignment::Left),
    ]);
    for module in &round.modules {
        table.row([
            module.path.clone().into(),
            verdict(module),
            tests(module).into(),
            calls(module).into(),
            shortened(module.failures.first().map_or("", String::as_str), 90).into(),
        ]);
    }
    let mut text = format!(
        "{} passed · {} failed · {} unknown\n\n{}",
        round.passed,
        round.failed,
        round.unknown,
        table.text()
    );
    if let Some((file, reason)) = round.unavailable.first_key_value() {
        text.push_str(&format!(
            "\n{} could not run, such as {file}: {reason}\n",
            count(round.unavailable.len(), "test file")
        ));
    }
    if !round.integrated.is_empty() {
        text.push_str(&format!("\n{}\n", styled("Integrated", TextStyle::Bold)));
        for path in &round.integrated {
            text.push_str(&format!("  {path}\n"));
        }
    }
    text
}

fn verdict(module: &ModuleTestResult) -> TableCell {
    match module.passed {
        Some(true) => TableCell::styled("passed", TextStyle::Good),
        Some(false) => TableCell::styled("failed", TextStyle::Bad),
        None => TableCell::styled("unknown", TextStyle::Warning),
    }
}

fn tests(module: &ModuleTestResult) -> String {
    let counts = module.tests;
    let parts = [
        (counts.passed, "passed"),
        (counts.failed, "failed"),
        (counts.errors, "errors"),
        (counts.skipped, "skipped"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    parts.join(", ")
}

fn calls(module: &ModuleTestResult) -> String {
    module.smoke.as_ref().map_or(String::new(), |smoke| {
        format!("{} of {}/{} sections", smoke.calls, smoke.reached, smoke.sections)
    })
}
