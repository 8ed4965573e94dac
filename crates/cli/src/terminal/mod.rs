//! The terminal: tables, colours, progress, errors, and the events of use cases.

mod arguments_text;
mod call_progress;
mod front_end;
mod numbers;
mod output;
mod progress;
mod table;

pub(crate) use arguments_text::input;
pub(crate) use front_end::TerminalFrontEnd;
pub(crate) use menace_app::text::{count, grouped, shortened};
pub(crate) use numbers::milliseconds;
pub(crate) use output::{
    TextStyle, error, ignore_broken_pipe, note, print, print_bytes, print_json, styled, unless_broken_pipe,
};
pub(crate) use table::{ColumnAlignment, TableCell, TextTable};
