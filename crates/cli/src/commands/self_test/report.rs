//! A round as people read it.

use crate::commands::run::shortened;
use crate::terminal::{ColumnAlignment, TableCell, TextStyle, TextTable, styled};

use super::round::{ModuleTestResult, SelfTestRound};

pub(super) fn text(round: &SelfTestRound) -> String {
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
            "\n{} test files could not be run, such as {file}: {reason}\n",
            round.unavailable.len()
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
