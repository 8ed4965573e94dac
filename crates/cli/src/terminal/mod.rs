//! What people see: tables, colours, progress, errors.

mod numbers;
mod output;
mod progress;
mod table;

pub(crate) use numbers::{count, grouped, milliseconds};
pub(crate) use output::{
    TextStyle, error, ignore_broken_pipe, note, print, print_bytes, print_json, styled, unless_broken_pipe,
};
pub(crate) use progress::{ScanProgress, StageSpinner};
pub(crate) use table::{ColumnAlignment, TableCell, TextTable};
