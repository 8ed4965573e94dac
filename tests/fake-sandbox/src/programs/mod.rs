//! Programs of the fake backend. Each behaves as its Debian namesake for the supported arguments, and fails for all
//! others.

mod files;
mod process_context;
mod program_error;
mod streams;
mod table;

pub(super) use table::find;
