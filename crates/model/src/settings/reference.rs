//! The reference page of all settings, `docs/settings.md`.

use std::fmt::Write as _;

use super::table::groups;
use super::{SettingDeclaration, SettingStatus};

const INTRODUCTION: &str = "\
# Settings

<!-- Generated from the settings table in crates/model/src/settings. Edit that instead. -->

A setting can be given as a flag, as an environment variable, in `.env` in the working directory, or under its YAML
key in `sandbox_settings.yaml`. The first of these sources that sets it wins; otherwise the default applies.

*Active* settings have an effect. *Planned* settings are parsed and validated, but their feature does not exist yet.
*Deprecated* names work with a warning. `menace config` shows every value and its source.
";

/// The page as Markdown, with one table for each group.
pub fn reference_markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (heading, table) in groups() {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "\n## {heading}\n");
        page.push_str("| variable | flag | YAML key | accepts | default | status | meaning |\n");
        page.push_str("|---|---|---|---|---|---|---|\n");
        page.extend(table.iter().map(row));
    }
    page
}

fn row(declaration: &SettingDeclaration) -> String {
    let cells = [
        code(declaration.env),
        flags(declaration),
        code(declaration.key),
        accepted(declaration),
        code(declaration.default),
        status(declaration.status).to_owned(),
        meaning(declaration),
    ];
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

fn flags(declaration: &SettingDeclaration) -> String {
    let spellings: Vec<String> = declaration.flag_spellings().iter().map(|flag| code(flag)).collect();
    spellings.join(", ")
}

fn accepted(declaration: &SettingDeclaration) -> String {
    if declaration.is_switch { "1 or 0".to_owned() } else { (declaration.accepted)() }
}

fn status(status: SettingStatus) -> &'static str {
    match status {
        SettingStatus::Active => "active",
        SettingStatus::Planned => "planned",
        SettingStatus::Deprecated => "deprecated",
    }
}

fn meaning(declaration: &SettingDeclaration) -> String {
    let mut meaning = declaration.help().to_owned();
    if let Some(followed) = declaration.mirrors {
        // Writing to a string cannot fail.
        let _ = write!(meaning, " (follows `{followed}`)");
    }
    if let Some(replacement) = declaration.replaced_by {
        let _ = write!(meaning, " (use `{replacement}`)");
    }
    if declaration.secret {
        meaning.push_str(" (secret)");
    }
    meaning
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::declarations;

    #[test]
    fn every_setting_has_a_row_with_as_many_cells_as_the_header() {
        let page = reference_markdown();
        for (_, declaration) in declarations() {
            let start = format!("| `{}` |", declaration.env);
            let rows: Vec<&str> = page.lines().filter(|line| line.starts_with(&start)).collect();
            assert_eq!(rows.len(), 1, "{}", declaration.env);
            assert_eq!(rows[0].replace("\\|", "").matches('|').count(), 8, "{}", rows[0]);
        }
    }

    #[test]
    fn rows_show_the_declared_values() {
        let page = reference_markdown();
        let expected = [
            "| `SANDBOX_RECURSIVE_ORPHANS` | `--recursive-orphans`, `--no-recursive-orphans`, `--recursive-include`, \
             `--no-recursive-include` | `recursive_orphans` | 1 or 0 | `1` | active | \
             Follow dependencies of orphan modules |",
            "| `SANDBOX_AUTODISCOVER_MODULES` |  | `autodiscover_modules` | 1 or 0 |  | deprecated | \
             Deprecated name of the switch that builds the module map at start (use `SANDBOX_AUTO_MAP`) |",
        ];
        for row in expected {
            assert!(page.lines().any(|line| line == row), "{row}");
        }
        assert!(page.contains("\n## Paths\n\n| variable |"));
    }
}
