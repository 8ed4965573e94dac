//! `menace config`: every setting, its value and its source.

use menace_model::settings::{SettingRow, SettingSource, SettingStatus};

use crate::configuration::Configuration;
use crate::exit::MenaceExit;
use crate::terminal::{ColumnAlignment, TableCell, TextStyle, TextTable, count, print, print_json, styled};

pub(super) fn run(
    configuration: &Configuration,
    pattern: Option<&str>,
    changed: bool,
    json: bool,
) -> anyhow::Result<MenaceExit> {
    let is_shown = |row: &&SettingRow| {
        pattern.is_none_or(|pattern| matches(row, pattern))
            && (!changed || row.origin != SettingSource::Default)
    };
    let rows: Vec<&SettingRow> = configuration.resolved().rows.iter().filter(is_shown).collect();
    if json {
        print_json(&rows)?;
    } else {
        print(&config_table(&rows))?;
    }
    Ok(MenaceExit::Done)
}

fn matches(row: &SettingRow, pattern: &str) -> bool {
    let pattern = pattern.to_lowercase();
    [row.env, row.flag.unwrap_or_default(), row.help, row.key]
        .iter()
        .any(|text| text.to_lowercase().contains(&pattern))
}

fn config_table(rows: &[&SettingRow]) -> String {
    let mut text = String::new();
    let mut groups: Vec<&str> = rows.iter().map(|row| row.group).collect();
    groups.dedup();
    for group in groups {
        let mut table = TextTable::new(&[
            ("", ColumnAlignment::Left),
            ("", ColumnAlignment::Left),
            ("", ColumnAlignment::Left),
            ("", ColumnAlignment::Left),
        ]);
        for row in rows.iter().filter(|row| row.group == group) {
            table.row([
                row.env.into(),
                shown_value(row),
                origin(row),
                TableCell::styled(row.help, TextStyle::Dim),
            ]);
        }
        text.push_str(&format!("{}\n{}\n", styled(group, TextStyle::Bold), table.text()));
    }
    let planned = rows.iter().filter(|row| row.status == SettingStatus::Planned).count();
    text.push_str(&format!(
        "{}, {planned} of them planned (known, without effect yet)\n",
        count(rows.len(), "setting")
    ));
    text
}

fn shown_value(row: &SettingRow) -> TableCell {
    if row.value.is_empty() { TableCell::styled("–", TextStyle::Dim) } else { row.value.clone().into() }
}

/// Source of the value, and whether it has an effect.
fn origin(row: &SettingRow) -> TableCell {
    let is_default = row.source == SettingSource::Default.to_string();
    let suffix = match row.status {
        SettingStatus::Active => "",
        SettingStatus::Planned => ", planned",
        SettingStatus::Deprecated => ", deprecated",
    };
    TableCell::styled(
        format!("{}{suffix}", row.source),
        if is_default { TextStyle::Dim } else { TextStyle::Good },
    )
}
