//! `menace config`: every setting, its value, where it came from.

use menace_model::settings::{ResolvedSetting, Source, Status};

use crate::configuration::Configuration;
use crate::exit::Exit;
use crate::terminal::{Align, Cell, Style, Table, count, print, print_json, styled};

pub(super) fn run(
    configuration: &Configuration,
    pattern: Option<&str>,
    changed: bool,
    json: bool,
) -> anyhow::Result<Exit> {
    let is_shown = |row: &&ResolvedSetting| {
        pattern.is_none_or(|pattern| matches(row, pattern))
            && (!changed || row.source != Source::Default.to_string())
    };
    let rows: Vec<&ResolvedSetting> = configuration.resolved().rows.iter().filter(is_shown).collect();
    if json {
        print_json(&rows)?;
    } else {
        print(&config_table(&rows))?;
    }
    Ok(Exit::Done)
}

fn matches(row: &ResolvedSetting, pattern: &str) -> bool {
    let pattern = pattern.to_lowercase();
    [row.env, row.flag.unwrap_or_default(), row.help, row.key]
        .iter()
        .any(|text| text.to_lowercase().contains(&pattern))
}

fn config_table(rows: &[&ResolvedSetting]) -> String {
    let mut text = String::new();
    let mut groups: Vec<&str> = rows.iter().map(|row| row.group).collect();
    groups.dedup();
    for group in groups {
        let mut table =
            Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Left), ("", Align::Left)]);
        for row in rows.iter().filter(|row| row.group == group) {
            table.row([row.env.into(), shown_value(row), origin(row), Cell::styled(row.help, Style::Dim)]);
        }
        text.push_str(&format!("{}\n{}\n", styled(group, Style::Bold), table.text()));
    }
    let planned = rows.iter().filter(|row| row.status == Status::Planned).count();
    text.push_str(&format!(
        "{}, {planned} of them planned (known, without effect yet)\n",
        count(rows.len(), "setting")
    ));
    text
}

fn shown_value(row: &ResolvedSetting) -> Cell {
    if row.value.is_empty() { Cell::styled("–", Style::Dim) } else { row.value.clone().into() }
}

/// Where the value came from, and whether it has an effect.
fn origin(row: &ResolvedSetting) -> Cell {
    let is_default = row.source == Source::Default.to_string();
    let suffix = match row.status {
        Status::Active => "",
        Status::Planned => ", planned",
        Status::Deprecated => ", deprecated",
    };
    Cell::styled(format!("{}{suffix}", row.source), if is_default { Style::Dim } else { Style::Good })
}
