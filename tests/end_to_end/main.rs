//! The binary `menace`, from outside: its output, its files, its cache, and hostile input.
#![expect(
    clippy::unwrap_used,
    reason = "clippy allows it in test functions, and their helpers are no different"
)]

mod cache;
mod cases;
mod command_line;
mod hostile;
