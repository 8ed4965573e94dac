//! The sandbox service, from outside: `menace serve` and its clients.
#![expect(
    clippy::unwrap_used,
    reason = "clippy allows it in test functions, and their helpers are no different"
)]

mod agents;
mod bad_input;
mod commands;
mod connections;
mod docker;
mod files;
mod keys;
mod lifecycle;
mod persistent_sandboxes;
mod pool;
mod prometheus;
mod restarts;
mod traces;
mod up;
