//! Tables with aligned columns and without borders.

use comfy_table::{Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, Width, presets};

use super::TextStyle;

/// Alignment of the cells of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ColumnAlignment {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// Text in a table, with or without a style.
pub(crate) struct TableCell {
    text: String,
    style: Option<TextStyle>,
}

impl TableCell {
    pub(crate) fn styled(text: impl Into<String>, style: TextStyle) -> Self {
        Self { text: text.into(), style: Some(style) }
    }
}

impl<T: Into<String>> From<T> for TableCell {
    fn from(text: T) -> Self {
        Self { text: text.into(), style: None }
    }
}

impl From<TableCell> for comfy_table::Cell {
    fn from(cell: TableCell) -> Self {
        let plain = Self::new(cell.text);
        match cell.style {
            None => plain,
            Some(TextStyle::Bold) => plain.add_attribute(Attribute::Bold),
            Some(TextStyle::Dim) => plain.add_attribute(Attribute::Dim),
            Some(TextStyle::Good) => plain.fg(Color::Green),
            Some(TextStyle::Warning) => plain.fg(Color::Yellow),
            Some(TextStyle::Bad) => plain.fg(Color::Red),
        }
    }
}

/// A table with a dim header.
pub(crate) struct TextTable {
    inner: comfy_table::Table,
}

impl TextTable {
    /// Creates a table with these columns; without a header if all titles are empty.
    pub(crate) fn new(columns: &[(&str, ColumnAlignment)]) -> Self {
        let mut inner = comfy_table::Table::new();
        inner.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        // comfy-table creates columns only with a row, so there is always a header; `text` drops an empty one.
        inner.set_header(
            columns
                .iter()
                .map(|(title, _)| comfy_table::Cell::from(TableCell::styled(*title, TextStyle::Dim))),
        );
        for (index, (_, align)) in columns.iter().enumerate() {
            let Some(column) = inner.column_mut(index) else { continue };
            column.set_padding((if index == 0 { 2 } else { 0 }, 2));
            column.set_cell_alignment(match align {
                ColumnAlignment::Left => CellAlignment::Left,
                ColumnAlignment::Right => CellAlignment::Right,
            });
            if index + 1 < columns.len() {
                column.set_constraint(ColumnConstraint::UpperBoundary(Width::Percentage(45)));
            }
        }
        Self { inner }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = TableCell>) {
        self.inner.add_row(cells.into_iter().map(comfy_table::Cell::from).collect::<Vec<_>>());
    }

    /// The table as text: one line per row, without trailing spaces.
    pub(crate) fn text(&self) -> String {
        let lines = self.inner.to_string();
        lines
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .flat_map(|line| [line, "\n"])
            .collect()
    }
}
