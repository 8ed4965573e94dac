//! The sandbox service, from outside: `menace serve` and its clients.
#![expect(
    clippy::unwrap_used,
    reason = "clippy allows it in test functions, and their helpers are no different"
)]

mod agents;
mod bad_input;
mod commands;
mod docker;
mod files;
mod keys;
mod lifecycle;
mod pool;
mod prometheus;
mod restarts;
mod shell;
mod traces;
mod up;
mod ways_in;
