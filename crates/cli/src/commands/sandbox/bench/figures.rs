//! Measurements that are no rows: a few figures each, as lines or as JSON.

use serde::Serialize;

use crate::terminal::{ColumnAlignment, TextTable, print, print_json};

/// Figures of one measurement.
pub(super) trait Figures: Serialize {
    /// Each with its name and unit, for people.
    fn lines(&self) -> Vec<(&'static str, String)>;
}

pub(super) fn print_figures(figures: &impl Figures, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return print_json(figures);
    }
    let mut table = TextTable::new(&[("", ColumnAlignment::Left), ("", ColumnAlignment::Right)]);
    for (name, value) in figures.lines() {
        table.row([name.into(), value.into()]);
    }
    print(&table.text())
}
