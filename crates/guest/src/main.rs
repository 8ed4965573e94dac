//! `menace-guest`: the init process of a container, or a process that executes one order.

mod command;
mod connection;
mod first;
mod inspect;
mod listing;
mod processes;
mod serve;
mod streams;

use std::process::ExitCode;

use menace_guest::protocol;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(protocol::FIRST) => first::main(),
        Some(protocol::SERVE) => serve::main(),
        _ => ExitCode::from(2),
    }
}
